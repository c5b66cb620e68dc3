/** Payment modes, also the last character of CC (docs/concert.md 3.4, 4.5). */
const names: Readonly<Record<string, string>> = {
  "1": "CB",
  "2": "American Express",
  "3": "CB Enseigne",
  "4": "Cetelem",
  "5": "Cofinoga",
  "6": "Diners",
  "7": "Pass",
  "8": "Franfinance",
  "9": "JCB",
  A: "Accord",
  B: "CB",
  D: "American Express",
  E: "Conecs",
  U: "UnionPay",
};

/** The name of a payment mode; null for one that names no card. */
export function applicationName(mode: string): string | null {
  return names[mode] ?? null;
}
