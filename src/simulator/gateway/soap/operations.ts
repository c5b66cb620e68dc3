import { type Account, accountOf, type Website } from "../account.ts";
import {
  currencyDecimals,
  type Demand,
  DemandRefused,
  formatFloat,
  type Order,
  parseAmount,
} from "../orders/order.ts";
import { autoPayment } from "../pages/test-cards.ts";
import type { SandboxParts } from "../parts.ts";
import {
  checkValues,
  invalid,
  maskStored,
  OperationRefused,
  parameterOf,
  readParameters,
  structural,
  textOf,
  type Values,
} from "./parameters.ts";
import type { Operation } from "./services.ts";
import type { XmlElement } from "./xml.ts";

interface OperationContext extends SandboxParts {
  readonly account: Account;
  readonly baseUrl: string;
}

/** The result element of an answer: the names of its child elements, with their contents. */
interface Result {
  readonly code: number;
  readonly description: string;
  readonly [name: string]: string | number;
}

/** Result codes of refusals (docs/gateway.md 2.6); the codes from 20 on are invented. */
const BAD_CREDENTIALS = 1;
const SUB_ACCOUNT_UNKNOWN = 7;
const STATE_FORBIDS = 20;

export interface Answer {
  readonly status: 200 | 500;
  readonly result: Result;
}

const handlers = { generate, confirm, cancel, getDetails, card };

/**
 * Carries out a SOAP operation. A missing or unknown parameter is answered with HTTP 500
 * (docs/design.md 12.20), any other refusal with HTTP 200 and a result code.
 */
export function carryOut(
  operation: Operation,
  element: XmlElement,
  context: Omit<OperationContext, "account">,
): Answer {
  try {
    const values = readParameters(element, operation.parameters);
    const account = authenticate(values, context.accounts);
    checkValues(values, operation.parameters);
    return { status: 200, result: handlers[operation.name](values, { ...context, account }) };
  } catch (error) {
    if (!(error instanceof OperationRefused)) throw error;
    const { status, code, message: description } = error;
    const transactionPublicId = parameterOf(element, "transactionPublicId");
    const named = transactionPublicId && { transactionPublicId };
    return { status, result: { ...named, code, description } };
  }
}

function authenticate(values: Values, accounts: readonly Account[]): Account {
  const login = textOf(values, "wsLogin");
  const account = accountOf(accounts, login, textOf(values, "wsPassword"));
  if (!account) throw new OperationRefused(BAD_CREDENTIALS, `Bad password for login '${login}'`);
  checkSubAccount(values, account);
  return account;
}

/** Throws {@link OperationRefused} if the request names a sub-account that the account lacks. */
function checkSubAccount(values: Values, { subAccounts }: Account): void {
  const id = textOf(values, "wsSubAccountId");
  const login = textOf(values, "wsSubAccountLogin");
  const withId = id === "" ? subAccounts : subAccounts.filter((sub) => String(sub.id) === id);
  if (id !== "" && withId.length === 0) {
    throw new OperationRefused(SUB_ACCOUNT_UNKNOWN, `wsSubAccountId ${id} not found`);
  }
  if (login !== "" && !withId.some((sub) => sub.login === login)) {
    const within = id && ` for wsSubAccountId ${id}`;
    const why = `wsSubAccountLogin '${login}' not found${within}`;
    throw new OperationRefused(SUB_ACCOUNT_UNKNOWN, why);
  }
}

/** Returns the child elements of a result, without nillable elements that have no value. */
export function resultChildren({ response }: Operation, result: Result) {
  return response.fields.flatMap(({ name, nillable }) => {
    const value = result[name];
    return value === undefined && nillable ? [] : [[name, String(value ?? "")] as const];
  });
}

/**
 * Creates an order and returns the address of its payment page. A repeated merchant reference makes
 * another order, because the gateway does not promise to recognise it (docs/design.md 8.5).
 */
function generate(values: Values, context: OperationContext): Result {
  const { account, orders, baseUrl } = context;
  const website = websiteOf(values, account.websites);
  checkCategory(values, website, baseUrl);
  const freeData = (values["freeData"] ?? []) as readonly Values[];
  const order = orders.create({
    login: account.login,
    websiteId: website.id,
    merchantReference: maskStored(textOf(values, "merchantReference")),
    ...orderedAmount(values, website),
    manualCapture: /^(1|true)$/.test(textOf(values, "manualCapture")),
    customerEmail: maskStored(textOf(values, "customerEmail")),
    freeData: freeData.map((item) => ({
      key: maskStored(textOf(item, "key")),
      value: maskStored(textOf(item, "value")),
    })),
    fields: maskStored(values),
  });
  if (context.autoPay) context.ledger.accept(order, autoPayment(order));
  const redirectUrl = `${baseUrl}/index/ws/id/${order.pageId}`;
  return { redirectUrl, code: 0, description: "N/A" };
}

function websiteOf(values: Values, websites: readonly Website[]): Website {
  const id = textOf(values, "websiteId");
  const website = websites.find((candidate) => candidate.id === Number(id));
  if (!website) throw invalid("websiteId", `${id} is no website of this account`);
  return website;
}

function checkCategory(values: Values, { id, categories }: Website, baseUrl: string): void {
  const category = Number(textOf(values, "categoryId"));
  // One shop module sends category 0 for every order, so 0 is accepted (docs/gateway.md 2.3).
  if (category === 0 || categories.some((candidate) => candidate.id === category)) return;
  throw invalid("categoryId", `${category} is not in ${baseUrl}/order/list-categories/id/${id}`);
}

function orderedAmount(values: Values, website: Website) {
  const currency = textOf(values, "currency");
  const decimals = currencyDecimals(currency);
  // The currency of an order must be the website's currency (docs/design.md 12.10).
  if (decimals === undefined || currency !== website.currency) {
    throw invalid("currency", `website ${website.id} sells in ${website.currency}`);
  }
  const amountMinor = positiveAmount(values, decimals, ` in ${currency}`);
  return { currency, decimals, amountMinor };
}

function positiveAmount(values: Values, decimals: number, where = ""): number {
  const amountMinor = parseAmount(textOf(values, "amount"), decimals);
  if (amountMinor) return amountMinor;
  throw invalid("amount", `it must be positive with at most ${decimals} decimals${where}`);
}

/** Captures an authorized order, whole or in part (docs/design.md 12.13). */
function confirm(values: Values, context: OperationContext): Result {
  const order = transactionOf(values, context);
  demand(context, order, { kind: "capture", amountMinor: amountOf(values, order) });
  return success(order, "transaction has been confirmed");
}

/** Cancels an authorized order (docs/design.md 12.13). */
function cancel(values: Values, context: OperationContext): Result {
  const order = transactionOf(values, context);
  demand(context, order, { kind: "cancel" });
  return success(order, "transaction has been cancelled");
}

/** Returns the state of an order (docs/gateway.md 2.2). */
function getDetails(values: Values, context: OperationContext): Result {
  const order = transactionOf(values, context);
  return {
    ...success(order, "N/A"),
    transactionStatus: order.state,
    amount: formatFloat(order.amountMinor, order.decimals),
    currency: order.currency,
  };
}

/** Refunds an amount, or all that is left, to the customer's card (docs/design.md 12.12). */
function card(values: Values, context: OperationContext): Result {
  const order = transactionOf(values, context);
  const { transactionPublicId, currency, decimals } = order;
  if (order.state !== "captured") {
    // The text is the real gateway's; the result code is invented (docs/gateway.md 2.6).
    throw new OperationRefused(
      STATE_FORBIDS,
      `transaction ${transactionPublicId} is not refundable to card: it is ${order.state}`,
    );
  }
  const left = order.capturedMinor - order.refundedMinor;
  const amountMinor = amountOf(values, order) ?? left;
  demand(context, order, { kind: "refund", amountMinor });
  const request = `Refund to credit card request for transaction ${transactionPublicId}`;
  return {
    ...success(order, `${request} has been sent !`),
    currency,
    amount: formatFloat(amountMinor, decimals),
  };
}

/** Returns the result of an operation that succeeded (docs/gateway.md 2.4). */
function success({ transactionPublicId }: Order, description: string): Result {
  return { transactionPublicId, code: 0, description };
}

/**
 * Returns the merchant's order that a request names by its transaction, or else by the merchant's
 * reference. An order of another merchant is refused as if it did not exist.
 */
function transactionOf(values: Values, { account, orders }: OperationContext): Order {
  const publicId = textOf(values, "transactionPublicId");
  const reference = textOf(values, "merchantReference");
  if (publicId === "" && reference === "") {
    throw structural("transactionPublicId", "mandatory parameter is missing");
  }
  const order =
    publicId === ""
      ? orders.byReference(account.login, maskStored(reference))
      : orders.byPublicId(publicId.toUpperCase());
  const field = publicId === "" ? "merchantReference" : "transactionPublicId";
  if (order?.login !== account.login) throw invalid(field, "no such transaction");
  const websiteId = textOf(values, "websiteId");
  if (websiteId !== "" && Number(websiteId) !== order.websiteId) {
    throw invalid("websiteId", `the transaction is not of website ${websiteId}`);
  }
  return order;
}

/** Returns the amount of a partial capture or refund; undefined: the whole amount. */
function amountOf(values: Values, { currency, decimals }: Order): number | undefined {
  const given = textOf(values, "currency");
  if (given !== "" && given !== currency) {
    throw invalid("currency", `the transaction is in ${currency}`);
  }
  return textOf(values, "amount") === "" ? undefined : positiveAmount(values, decimals);
}

/** Changes an order. Throws {@link OperationRefused} if the order's state or amounts forbid it. */
function demand({ ledger }: OperationContext, order: Order, wanted: Demand): void {
  try {
    ledger.demand(order, wanted);
  } catch (error) {
    if (!(error instanceof DemandRefused)) throw error;
    if (error.amount) throw invalid("amount", error.because);
    throw new OperationRefused(STATE_FORBIDS, error.message);
  }
}
