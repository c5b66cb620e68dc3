import { orderFields } from "./order-fields.ts";
import { asCdata, gatewayBase, type SoapMessage, type SoapParameters } from "./soap-writer.ts";

/** The parameters of `generate`: texts in the order in which they are sent, and the free data. */
interface OrderParameters extends SoapParameters {
  readonly freeData: { readonly item: readonly { readonly key: string; readonly value: string }[] };
}

/**
 * Returns a function that writes order requests exactly as the `soap` package does, but faster,
 * because every order has the same few elements. A test compares the two writers.
 */
export function createOrderWriter(gatewayUrl: string): (order: OrderParameters) => SoapMessage {
  const service = `${gatewayBase(gatewayUrl)}/soap/payment-v2`;
  const url = `${service}/generate`;
  const headers = {
    "Content-Type": "text/xml; charset=utf-8",
    SOAPAction: `"${service}#generate"`,
  };
  const head =
    '<?xml version="1.0" encoding="utf-8"?>' +
    '<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" ' +
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"  ' +
    `xmlns:tns="${escaped(service)}"><soap:Body><tns:generate><parameters>`;
  const foot = "</parameters></tns:generate></soap:Body></soap:Envelope>";
  return (order) => {
    let own = "";
    for (const [name, value] of Object.entries(order)) {
      if (typeof value !== "string") continue;
      if (!Object.hasOwn(orderFields, name)) throw new Error(`an order has no field ${name}`);
      own += elementOf(name, value);
    }
    let items = "";
    for (const { key, value } of order.freeData.item) {
      items += `<item>${elementOf("key", key)}${elementOf("value", value)}</item>`;
    }
    return { url, headers, body: `${head}${own}<freeData>${items}</freeData>${foot}` };
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
