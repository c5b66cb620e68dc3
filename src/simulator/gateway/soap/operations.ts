import { type Account, accountOf, type Website } from "../account.ts";
import {
  currencyDecimals,
  type Demand,
  DemandRefused,
  type FreeDatum,
  formatFloat,
  type Order,
  parseAmount,
} from "../orders/order.ts";
import { autoPayment } from "../pages/test-cards.ts";
import type { SandboxParts } from "../parts.ts";
import {
  checkValues,
  maskStored,
  ParameterRefused,
  readParameters,
  textOf,
  type Values,
} from "./parameters.ts";
import type { Operation, OperationName } from "./services.ts";
import { childNamed, type XmlElement } from "./xml.ts";

/** The parts that an operation uses, and the account that asked for it. */
interface OperationContext extends SandboxParts {
  readonly account: Account;
  /** Scheme and host of the request, for addresses in answers. */
  readonly baseUrl: string;
}

/** The children of the result element, by name. */
interface Result {
  readonly code: number;
  readonly description: string;
  readonly [name: string]: string | number;
}

/** The result codes (docs/gateway.md 2.6); from 20 on they are invented. */
const resultCodes = {
  ok: 0,
  badCredentials: 1,
  parameterInvalid: 3,
  subAccountUnknown: 7,
  stateForbids: 20,
} as const;

/** A refusal that the result element carries, with HTTP 200. */
class OperationRefused extends Error {
  override readonly name = "OperationRefused";
  readonly code: number;

  constructor(code: number, description: string) {
    super(description);
    this.code = code;
  }
}

export interface Answer {
  readonly status: 200 | 500;
  readonly result: Result;
}

type Handler = (values: Values, context: OperationContext) => Result;

const handlers: Readonly<Record<OperationName, Handler>> = {
  generate,
  confirm,
  cancel,
  getDetails,
  card,
};

/**
 * Carries out one operation: structure, credentials, values, then the operation's own rules. The
 * status is 500 for missing and unknown parameters only (docs/design.md 12.20); every other refusal
 * is an answer with a code, which real clients read from either status.
 */
export function carryOut(
  operation: Operation,
  element: XmlElement,
  context: Omit<OperationContext, "account">,
): Answer {
  const sent = childNamed(element, "parameters");
  // Refusals name the transaction too; operations without that field leave it out.
  const transactionPublicId = sent && childNamed(sent, "transactionPublicId")?.text;
  const named = transactionPublicId ? { transactionPublicId } : {};
  try {
    const values = readParameters(element, operation.parameters);
    const account = authenticate(values, context.accounts);
    checkValues(values, operation.parameters);
    return { status: 200, result: handlers[operation.name](values, { ...context, account }) };
  } catch (error) {
    if (error instanceof ParameterRefused) {
      const code = resultCodes.parameterInvalid;
      const status = error.structural ? 500 : 200;
      return { status, result: { ...named, code, description: error.message } };
    }
    if (!(error instanceof OperationRefused)) throw error;
    return { status: 200, result: { ...named, code: error.code, description: error.message } };
  }
}

function authenticate(values: Values, accounts: readonly Account[]): Account {
  const login = textOf(values, "wsLogin");
  const account = accountOf(accounts, login, textOf(values, "wsPassword"));
  if (!account) {
    throw new OperationRefused(resultCodes.badCredentials, `Bad password for login '${login}'`);
  }
  checkSubAccount(values, account);
  return account;
}

/** Throws {@link OperationRefused} unless the named sub-account, if any, is the account's own. */
function checkSubAccount(values: Values, { subAccounts }: Account): void {
  const id = textOf(values, "wsSubAccountId");
  const login = textOf(values, "wsSubAccountLogin");
  const withId = id === "" ? subAccounts : subAccounts.filter((sub) => String(sub.id) === id);
  if (id !== "" && withId.length === 0) refuseSubAccount(`wsSubAccountId ${id} not found`);
  if (login !== "" && !withId.some((sub) => sub.login === login)) {
    refuseSubAccount(`wsSubAccountLogin '${login}' not found${id && ` for wsSubAccountId ${id}`}`);
  }
}

function refuseSubAccount(description: string): never {
  throw new OperationRefused(resultCodes.subAccountUnknown, description);
}

/** Returns the result element's children in their order; nillable ones only with a value. */
export function resultChildren(
  { response }: Operation,
  result: Result,
): ReadonlyArray<readonly [string, string]> {
  return response.fields.flatMap(({ name, nillable }) => {
    const value = result[name];
    return value === undefined && nillable ? [] : [[name, String(value ?? "")] as const];
  });
}

/**
 * Creates an order and answers the address of its payment page. A repeated merchant reference makes
 * another order: the gateway promises no more than that (docs/design.md 8.5).
 */
function generate(values: Values, context: OperationContext): Result {
  const { account, orders, baseUrl } = context;
  const website = websiteOf(values, account.websites);
  checkCategory(values, website, baseUrl);
  const { currency, decimals, amountMinor } = orderedAmount(values, website);
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
  // One shop module always sends 0 (docs/gateway.md 2.3).
  if (category === 0 || categories.some((candidate) => candidate.id === category)) return;
  throw new ParameterRefused(
    "categoryId",
    `${category} is not in ${baseUrl}/order/list-categories/id/${id}`,
  );
}

function orderedAmount(
  values: Values,
  website: Website,
): { currency: string; decimals: number; amountMinor: number } {
  const currency = textOf(values, "currency");
  const decimals = currencyDecimals(currency);
  // The currency must be that of the website (docs/design.md 12.10).
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

/** confirm, cancel and getDetails: docs/design.md 12.13; refunds to the card: 12.12. */

function confirm(values: Values, context: OperationContext): Result {
  const order = transactionOf(values, context);
  demand(context, order, { kind: "capture", amountMinor: amountOf(values, order) });
  return answer(order, "transaction has been confirmed");
}

function cancel(values: Values, context: OperationContext): Result {
  const order = transactionOf(values, context);
  demand(context, order, { kind: "cancel" });
  return answer(order, "transaction has been cancelled");
}

/** Answers the state of an order; three shop modules use it (docs/gateway.md 2.2). */
function getDetails(values: Values, context: OperationContext): Result {
  const order = transactionOf(values, context);
  return {
    ...answer(order, "N/A"),
    transactionStatus: order.state,
    amount: formatFloat(order.amountMinor, order.decimals),
    currency: order.currency,
  };
}

const REQUESTED = "Refund to credit card request for transaction";

/** Refunds to the card, all that is left or the given amount (docs/design.md 12.12). */
function card(values: Values, context: OperationContext): Result {
  const order = transactionOf(values, context);
  const { transactionPublicId, currency, decimals } = order;
  if (order.state !== "captured") {
    // The number of this refusal is not public, its text is (docs/gateway.md 2.6).
    throw new OperationRefused(
      resultCodes.stateForbids,
      `transaction ${transactionPublicId} is not refundable to card: it is ${order.state}`,
    );
  }
  const left = order.capturedMinor - order.refundedMinor;
  const amountMinor = amountOf(values, order) ?? left;
  demand(context, order, { kind: "refund", amountMinor });
  return {
    code: resultCodes.ok,
    description: `${REQUESTED} ${transactionPublicId} has been sent !`,
    currency,
    amount: formatFloat(amountMinor, decimals),
    transactionPublicId,
  };
}

/** Returns the result of an operation that succeeded (docs/gateway.md 2.4). */
function answer({ transactionPublicId }: Order, description: string): Result {
  return { transactionPublicId, code: resultCodes.ok, description };
}

/**
 * Returns the merchant's order that a request names, by transaction or else by the merchant's
 * reference. Another merchant's order is as unknown as none.
 */
function transactionOf(values: Values, { account, orders }: OperationContext): Order {
  const publicId = textOf(values, "transactionPublicId");
  const reference = textOf(values, "merchantReference");
  if (publicId === "" && reference === "") {
    throw new ParameterRefused("transactionPublicId", "mandatory parameter is missing", true);
  }
  const order =
    publicId === ""
      ? orders.byReference(account.login, maskStored(reference))
      : orders.byPublicId(publicId.toUpperCase());
  const field = publicId === "" ? "merchantReference" : "transactionPublicId";
  if (order?.login !== account.login) throw new ParameterRefused(field, "no such transaction");
  const websiteId = textOf(values, "websiteId");
  if (websiteId !== "" && Number(websiteId) !== order.websiteId) {
    throw new ParameterRefused("websiteId", `the transaction is not of website ${websiteId}`);
  }
  return order;
}

/** Returns the amount of a partial capture or refund; undefined: all of it. */
function amountOf(values: Values, { currency, decimals }: Order): number | undefined {
  const given = textOf(values, "currency");
  if (given !== "" && given !== currency) {
    throw new ParameterRefused("currency", `the transaction is in ${currency}`);
  }
  const text = textOf(values, "amount");
  if (text === "") return undefined;
  const amountMinor = parseAmount(text, decimals);
  if (amountMinor === undefined || amountMinor === 0) {
    throw new ParameterRefused("amount", `it must be positive with at most ${decimals} decimals`);
  }
  return amountMinor;
}

/** Carries a demand out, or refuses the operation with a code and the reason. */
function demand({ ledger }: OperationContext, order: Order, wanted: Demand): Order {
  try {
    return ledger.demand(order, wanted);
  } catch (error) {
    if (!(error instanceof DemandRefused)) throw error;
    if (error.amount) throw new ParameterRefused("amount", error.because);
    throw new OperationRefused(resultCodes.stateForbids, error.message);
  }
}
