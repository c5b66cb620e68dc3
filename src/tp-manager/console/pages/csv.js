/**
 * Text that a spreadsheet reads as a table and never as a formula (RFC 4180, with a mark of UTF-8
 * in front, because spreadsheets ask for it).
 * @param {ReadonlyArray<ReadonlyArray<string | number | null | undefined>>} rows
 */
export function csvOf(rows) {
  return `\uFEFF${rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("")}`;
}

/** A cell that begins so is a formula for some spreadsheet, in some language. */
const formula = /^[=+\-@\t\r\n＝＋－＠]/;
const needsQuotes = /[",\r\n\t;]|^\s|\s$/;

/** @param {string | number | null | undefined} value a number is no formula, whatever its sign */
function cellOf(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = formula.test(value.trimStart()) || formula.test(value) ? `'${value}` : value;
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Has the browser keep a text as a file.
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
