/**
 * Returns the rows as CSV (RFC 4180) that a spreadsheet never reads as formulas. A byte order
 * mark stands in front, because spreadsheets know UTF-8 by it.
 * @param {ReadonlyArray<ReadonlyArray<string | number | null | undefined>>} rows
 */
export function csvOf(rows) {
  return `\uFEFF${rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("")}`;
}

/** A spreadsheet can take a cell that begins with one of these for a formula. */
const formula = /^[=+\-@\t\r\n＝＋－＠]/;
const needsQuotes = /[",\r\n\t;]|^\s|\s$/;

/**
 * A number is never a formula, even with a minus in front.
 * @param {string | number | null | undefined} value
 */
function cellOf(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = formula.test(value.trimStart()) || formula.test(value) ? `'${value}` : value;
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Downloads a text as a CSV file.
 * @param {string} name
 * @param {string} text
 */
export function saveFile(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
