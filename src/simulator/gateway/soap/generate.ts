import type { Website } from "../account.ts";
import { currencyDecimals, parseAmount } from "../orders/amount.ts";
import { maskStored } from "../orders/mask-stored.ts";
import type { FreeDatum } from "../orders/order.ts";
import { autoPayment } from "../pages/test-cards.ts";
import { ParameterRefused, textOf, type Values } from "./parameters.ts";
import type { OperationContext, Result } from "./result.ts";

/**
 * Creates an order and answers the address of its payment page. A repeated merchant reference makes
 * another order: the gateway promises no more than that (docs/design.md 8.5).
 */
export function generate(values: Values, context: OperationContext): Result {
  const { account, orders, baseUrl } = context;
  const website = websiteOf(values, account.websites);
  checkCategory(values, website, baseUrl);
  const { currency, decimals, amountMinor } = amountOf(values, website);
  const order = orders.insert({
    login: account.login,
    websiteId: website.id,
    merchantReference: maskStored(textOf(values, "merchantReference")),
    amountMinor,
    currency,
    decimals,
    manualCapture: /^(1|true)$/.test(textOf(values, "manualCapture")),
    customerEmail: maskStored(textOf(values, "customerEmail")),
    freeData: freeDataOf(values),
    fields: maskStored(values),
  });
  if (context.autoPay) context.ledger.accept(order, autoPayment(order));
  return {
    redirectUrl: `${baseUrl}/index/ws/id/${order.pageId}`,
    code: 0,
    description: "N/A",
  };
}

function websiteOf(values: Values, websites: readonly Website[]): Website {
  const id = textOf(values, "websiteId");
  const website = websites.find((candidate) => candidate.id === Number(id));
  if (!website) throw new ParameterRefused("websiteId", `${id} is no website of this account`);
  return website;
}

function checkCategory(values: Values, { id, categories }: Website, baseUrl: string): void {
  const category = Number(textOf(values, "categoryId"));
  // docs/gateway.md 2.3: one module always sends 0.
  if (category === 0 || categories.some((candidate) => candidate.id === category)) return;
  throw new ParameterRefused(
    "categoryId",
    `${category} is not in ${baseUrl}/order/list-categories/id/${id}`,
  );
}

function amountOf(
  values: Values,
  website: Website,
): { currency: string; decimals: number; amountMinor: number } {
  const currency = textOf(values, "currency");
  const decimals = currencyDecimals(currency);
  // docs/design.md 12.10: the currency set on the account.
  if (decimals === undefined || currency !== website.currency) {
    throw new ParameterRefused("currency", `website ${website.id} sells in ${website.currency}`);
  }
  const amountMinor = parseAmount(textOf(values, "amount"), decimals);
  if (amountMinor === undefined || amountMinor === 0) {
    throw new ParameterRefused(
      "amount",
      `it must be positive with at most ${decimals} decimals in ${currency}`,
    );
  }
  return { currency, decimals, amountMinor };
}

function freeDataOf({ freeData }: Values): FreeDatum[] {
  if (!Array.isArray(freeData)) return [];
  return (freeData as readonly Values[]).map((item) => ({
    key: maskStored(textOf(item, "key")),
    value: maskStored(textOf(item, "value")),
  }));
}
