let zone: string | undefined;

/** The name of the machine's time zone, asked for once: each question takes time and memory. */
export function localTimeZone(): string {
  zone ??= Intl.DateTimeFormat().resolvedOptions().timeZone;
  return zone;
}
