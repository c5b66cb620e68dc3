/** @typedef {Node | string | number} Child */

/**
 * An element; texts become text nodes, so that no document can bring markup.
 * @param {string} tag
 * @param {Record<string, string | number | boolean | null | (() => void)>} [attributes]
 * @param {Child[]} children
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

const clock = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/**
 * In the reader's own time zone.
 * @param {string} iso
 */
export const timeOf = (iso) => h("time", { datetime: iso }, clock.format(new Date(iso)));

/**
 * @param {number | null} minor
 * @param {string | null} currency
 */
export function moneyText(minor, currency) {
  if (minor === null) return "";
  if (currency === null) return `${minor} (minor units)`;
  const format = new Intl.NumberFormat("en-GB", { style: "currency", currency });
  return format.format(minor / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2));
}
