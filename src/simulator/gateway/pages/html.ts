import catalogue from "../texts.json" with { type: "json" };

/** HTML text that must not be escaped again. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type HtmlValue = string | number | Html | readonly Html[] | undefined;

/** Returns the template as HTML. Each value is escaped, except values that are HTML already. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(
    strings.map((part, i) => part + (i < values.length ? written(values[i]) : "")).join(""),
  );
}

function written(value: HtmlValue): string {
  if (value === undefined) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "object") return value.map(({ text }) => text).join("");
  return String(value)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

export function htmlPage(
  { lang, title, head }: { lang: string; title: string; head?: Html },
  body: Html,
): string {
  return html`<!DOCTYPE html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="stylesheet" href="/sandbox/style.css">
${head}
</head>
<body>
${body}
</body>
</html>
`.text;
}

export type Language = keyof typeof catalogue.pages;

/** Returns the first language of a locale or of Accept-Language that the pages have, or English. */
export function languageOf(wanted = "en"): Language {
  const codes = wanted.split(",").map((one) => one.trim().slice(0, 2));
  return codes.find((one): one is Language => one in catalogue.pages) ?? "en";
}
