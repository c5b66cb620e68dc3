/** Languages in which the driver can put a code into words. */
export type Language = "en" | "fr" | "de";

export type Texts = Readonly<Record<Language, string>>;
