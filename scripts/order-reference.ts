import { orderFields } from "../src/supervisor/gateway/order-fields.ts";

/** What stands in each field of an order that is sent. */
const orderValues: Readonly<Record<keyof typeof orderFields, string>> = {
  wsLogin:
    "`GATEWAY_LOGIN`; the vendor's table allows 32 characters, real logins are longer " +
    "(`docs/gateway.md 2.2`)",
  wsPassword: "`GATEWAY_PWD`",
  websiteId: "`GATEWAY_WEBSITE_ID`, a website of the merchant account",
  categoryId: "`GATEWAY_CATEGORY_ID`; the gateway lists those of a website (`docs/gateway.md 2.8`)",
  currency: "the order's currency, which must be the account's",
  amount: "the whole order in major units, with all decimals of the currency",
  rating: "`GATEWAY_RATING`: `+12`, `+16`, `+18` or `ALL`",
  locale: "`GATEWAY_LOCALE`: `en_GB`, `fr_FR`, `es_ES` or `it_IT`",
  customerIpAddress: "`GATEWAY_CUSTOMER_IP`",
  executionDate: "the time of the terminal's approval as `Y-m-dTH:i:s`, **in UTC**",
  manualCapture: "0: the gateway captures at once when it approves; 1 would only authorise",
  description: "`Order` and the order id",
  customerEmail: "the customer's address, where it looks like one",
  urlCallback: "`GATEWAY_CALLBACK_URL`, where notifications go",
  merchantReference: "the order id, unchanged in every try; optional in the vendor's table",
};

/**
 * Returns the rows of the order fields for docs/design.md 12.10: name, format, length, whether it
 * is required, what is sent, and what happens to a wrong value.
 */
export function orderRows(): readonly (readonly string[])[] {
  const then = { refuse: "parked", cut: "cut", "leave-out": "left out" };
  const rows = Object.entries(orderFields).map(([name, row]) => [
    `\`${name}\``,
    row.format,
    String(row.lengthMax ?? ""),
    row.mandatory ? "yes" : "no",
    orderValues[name as keyof typeof orderFields],
    then[row.misfit],
  ]);
  const others = "`urlAccept`, `urlDecline`, `urlCancel`, `urlLogo`, `merchantComment`";
  rows.push([`${others}, \`emailCallback\``, "AN", "255", "no", "nothing: never sent", ""]);
  const items = "items of key and value, which notifications return (8.2)";
  rows.push(["`freedata`", "AN", "", "no", items, ""]);
  return rows;
}
