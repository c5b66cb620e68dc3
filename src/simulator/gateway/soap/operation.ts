import { type Account, accountOf } from "../account.ts";
import { childNamed, type XmlElement } from "../xml/xml-element.ts";
import { generate } from "./generate.ts";
import {
  checkValues,
  ParameterRefused,
  readParameters,
  textOf,
  type Values,
} from "./parameters.ts";
import { type OperationContext, OperationRefused, type Result, resultCodes } from "./result.ts";
import type { Operation, OperationName } from "./services.ts";
import { cancel, card, confirm, getDetails } from "./transaction.ts";

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

/** A sub-account that is named by its id, its login or both is one of the account's own. */
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

/** The result element's children as they are written: nillable ones only when there is a value. */
export function resultChildren(
  { response }: Operation,
  result: Result,
): ReadonlyArray<readonly [string, string]> {
  return response.fields.flatMap(({ name, nillable }) => {
    const value = result[name];
    return value === undefined && nillable ? [] : [[name, String(value ?? "")] as const];
  });
}
