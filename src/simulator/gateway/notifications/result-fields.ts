import { formatAmount } from "../orders/amount.ts";
import type { Order, OrderOperation } from "../orders/order.ts";
import { textOf, type Values } from "../soap/parameters.ts";
import type { ResultFields } from "./mapi-document.ts";

interface Reason {
  readonly code: string;
  readonly short: string;
  readonly long: string;
}

/** Why an operation did not succeed, in the words of the sandbox. */
function reasonOf({ type, status }: OrderOperation): Reason {
  if (status !== "nok") return { code: "", short: "", long: "" };
  return type === "authorization"
    ? { code: "05", short: "Declined", long: "The issuer declined the authorization" }
    : { code: "96", short: "Failed", long: `The ${type} did not succeed` };
}

/** The members of a notification: docs/design.md 12.17; docs/gateway.md 3.1. */
export function resultFields(order: Order, operation: OrderOperation): ResultFields {
  const [date = "", clock = ""] = operation.createdAt.split("T");
  const reason = reasonOf(operation);
  return [
    ["operation", operation.type],
    ["status", operation.status],
    ["date", date],
    ["time", `${clock.slice(0, 8)} UTC+0000`],
    ["origAmount", twoPlaces(order.amountMinor, order.decimals)],
    ["origCurrency", order.currency],
    ...refundedAmount(order, operation),
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

function refundedAmount(order: Order, { type, amountMinor }: OrderOperation): ResultFields {
  return type === "refund" ? [["refundedAmount", twoPlaces(amountMinor, order.decimals)]] : [];
}

/** One refProduct<n> for each item of the order's cart. */
function productReferences({ items }: Values): ResultFields {
  if (!Array.isArray(items)) return [];
  return (items as readonly Values[]).map((item, i) => [
    `refProduct${i}`,
    textOf(item, "reference"),
  ]);
}

/** Decimal with two places at least, also for currencies without decimals. */
function twoPlaces(minor: number, decimals: number): string {
  const scale = Math.max(2 - decimals, 0);
  return formatAmount(minor * 10 ** scale, decimals + scale);
}
