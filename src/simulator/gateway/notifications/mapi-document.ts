import { hash } from "node:crypto";
import { formatMajor } from "../../../shared/money.ts";
import type { FreeDatum, Order, OrderOperation } from "../orders/order.ts";
import { textOf, type Values } from "../soap/parameters.ts";
import { xml, xmlDocument } from "../soap/xml.ts";

/** The child elements of a notification's result, in order; free data has children of its own. */
export type ResultFields = ReadonlyArray<
  readonly [name: string, value: string | readonly FreeDatum[]]
>;

/**
 * Returns the signed document of a notification (docs/gateway.md 3.2, 3.4). The digest is MD5 over
 * the bytes of the `result` element, followed by the secret: the password or the website's salt.
 * `badDigest`: the document is signed with another secret.
 */
export function mapiDocument(fields: ResultFields, secret: string, badDigest = false): string {
  const result = xml("result", fields.map(resultChild));
  const digest = hash("md5", result + (badDigest ? `${secret}?` : secret));
  const mapi = xml("mapi", [xml("mapiversion", "1.0"), xml("md5content", digest), result]);
  return `${xmlDocument(mapi)}\n`;
}

function resultChild([name, value]: ResultFields[number]): string {
  if (typeof value === "string") return xml(name, value);
  // Keys that are no XML names are left out, because the real form of such keys is not public.
  const items = value
    .filter(({ key }) => /^[\p{L}\p{N}_.-]*$/u.test(key))
    .map((item) => xml(`_aKey_${item.key}`, item.value));
  return xml(name, items);
}

/** Returns invented texts for why an operation failed; empty texts if it did not fail. */
function reasonOf({ type, status }: OrderOperation) {
  if (status !== "nok") return { code: "", short: "", long: "" };
  return type === "authorization"
    ? { code: "05", short: "Declined", long: "The issuer declined the authorization" }
    : { code: "96", short: "Failed", long: `The ${type} did not succeed` };
}

/** Returns the fields of a notification (docs/design.md 12.17, docs/gateway.md 3.1). */
export function resultFields(order: Order, operation: OrderOperation): ResultFields {
  const [date = "", clock = ""] = operation.createdAt.split("T");
  const reason = reasonOf(operation);
  const refund = twoDecimals(operation.amountMinor, order.decimals);
  const refunded: ResultFields = operation.type === "refund" ? [["refundedAmount", refund]] : [];
  return [
    ["operation", operation.type],
    ["status", operation.status],
    ["date", date],
    ["time", `${clock.slice(0, 8)} UTC+0000`],
    ["origAmount", twoDecimals(order.amountMinor, order.decimals)],
    ["origCurrency", order.currency],
    ...refunded,
    ["idForMerchant", order.merchantReference],
    ["emailClient", order.customerEmail],
    ["idClient", ""],
    ["cardCountry", order.cardCountry],
    ["ipCountry", order.customerCountry],
    ["merchantDatas", order.freeData],
    ["transid", order.transactionPublicId],
    ["is3ds", order.enrolled3ds ? "Yes" : "No"],
    ["paymentMethod", order.paymentMethod],
    ...productReferences(order.fields),
    ["customerCountry", order.customerCountry],
    ["returnCode", reason.code],
    ["returnDescriptionShort", reason.short],
    ["returnDescriptionLong", reason.long],
  ];
}

function productReferences({ items }: Values): ResultFields {
  if (!Array.isArray(items)) return [];
  return (items as readonly Values[]).map((item, i) => [
    `refProduct${i}`,
    textOf(item, "reference"),
  ]);
}

/** Returns an amount with at least two decimals, even in a currency without decimals. */
function twoDecimals(minor: number, decimals: number): string {
  const scale = Math.max(2 - decimals, 0);
  return formatMajor(minor * 10 ** scale, decimals + scale);
}
