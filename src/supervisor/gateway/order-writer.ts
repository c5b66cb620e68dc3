import { orderTemplate } from "./order-template.ts";
import {
  asCdata,
  gatewayBase,
  type SoapMessage,
  type SoapParameters,
  WSDL_ADDRESS,
} from "./soap-writer.ts";

/** The parameters of `generate`: texts in the order in which they are sent, then the free data. */
export interface OrderParameters extends SoapParameters {
  readonly freeData: { readonly item: readonly { readonly key: string; readonly value: string }[] };
}

/**
 * Writes order requests as the `soap` package would, without it: every order has the same few
 * elements, and a queue of them is sent faster than the package walks through a WSDL. The template
 * is what the package itself wrote (scripts/soap-template.ts); a test holds both writers equal.
 */
export function createOrderWriter(gatewayUrl: string): (order: OrderParameters) => SoapMessage {
  const base = gatewayBase(gatewayUrl);
  const address = escaped(base);
  const body = orderTemplate.body.join("").replaceAll(WSDL_ADDRESS, () => address);
  const headers = Object.fromEntries(
    Object.entries(orderTemplate.headers).map(([name, value]) => [
      name,
      value.replaceAll(WSDL_ADDRESS, () => base),
    ]),
  );
  const url = orderTemplate.url.replaceAll(WSDL_ADDRESS, () => base);
  const { head, foot, elements } = partsOf(body);
  /** The last element of each name: most are the same in every order. */
  const written = new Map<string, { readonly value: string; readonly element: string }>();
  const fieldOf = (name: string, value: string): string => {
    const last = written.get(name);
    if (last?.value === value) return last.element;
    if (!elements.has(name)) throw new Error(`the template has no element ${name}`);
    const element = elementOf(name, value);
    written.set(name, { value, element });
    return element;
  };
  return (order) => {
    let own = "";
    for (const [name, value] of Object.entries(order)) {
      if (typeof value === "string") own += fieldOf(name, value);
    }
    let items = "";
    for (const { key, value } of order.freeData.item) {
      items += `<item>${elementOf("key", key)}${elementOf("value", value)}</item>`;
    }
    return { url, headers, body: `${head}${own}<freeData>${items}</freeData>${foot}` };
  };
}

/** The envelope around the elements, and their names. */
function partsOf(body: string): { head: string; foot: string; elements: ReadonlySet<string> } {
  const found = [...body.matchAll(/<(\w+)>\{\{\1\}\}<\/\1>/g)];
  const freeData = "</freeData>";
  return {
    head: body.slice(0, found[0]?.index),
    foot: body.slice(body.indexOf(freeData) + freeData.length),
    elements: new Set(found.map(([, name = ""]) => name)),
  };
}

function elementOf(name: string, value: string): string {
  return `<${name}>${asCdata(value) ?? escaped(value)}</${name}>`;
}

const references: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
  "\t": "&#x9;",
  "\r": "&#xD;",
  "\n": "&#xA;",
};

function escaped(text: string): string {
  if (!/[&<>"'\t\r\n]/.test(text)) return text;
  return text.replace(/[&<>"'\t\r\n]/g, (character) => references[character] ?? character);
}
