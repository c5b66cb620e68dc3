import { type Account, accountOf } from "../account.ts";
import type { OrderStore } from "../orders/order-store.ts";
import type { XmlElement } from "../xml/xml-element.ts";
import { generate } from "./generate.ts";
import {
  checkValues,
  ParameterRefused,
  readParameters,
  textOf,
  type Values,
} from "./parameters.ts";
import type { Operation, OperationName } from "./services.ts";

/** What an operation may use, and for whom it works. */
export interface OperationContext {
  readonly account: Account;
  readonly orders: OrderStore;
  /** Scheme and host the client reached us by, for addresses in answers. */
  readonly baseUrl: string;
}

/** The children of the result element, by name. */
export interface Result {
  readonly code: number;
  readonly description: string;
  readonly [name: string]: string | number;
}

export interface Answer {
  readonly status: 200 | 500;
  readonly result: Result;
}

/** gateway.md (b), "Error codes". The numbers from 20 on are ours: the real ones are not public. */
export const resultCodes = {
  ok: 0,
  badCredentials: 1,
  parameterInvalid: 3,
  subAccountUnknown: 7,
  stateForbids: 20,
} as const;

/** A refusal that the result element carries, with HTTP 200. */
export class OperationRefused extends Error {
  override readonly name = "OperationRefused";
  readonly code: number;

  constructor(code: number, description: string) {
    super(description);
    this.code = code;
  }
}

type Handler = (values: Values, context: OperationContext) => Result;

const handlers: Readonly<Record<OperationName, Handler>> = { generate };

/**
 * Carries out one operation: structure, credentials, values, then the operation's own rules. The
 * status is 500 for missing and unknown parameters only (specification 2, "Errors"); every other
 * refusal is an answer with a code, which real clients read from either status.
 */
export function carryOut(
  operation: Operation,
  element: XmlElement,
  accounts: readonly Account[],
  context: Omit<OperationContext, "account">,
): Answer {
  try {
    const values = readParameters(element, operation.parameters);
    const account = authenticate(values, accounts);
    checkValues(values, operation.parameters);
    return { status: 200, result: handlers[operation.name](values, { ...context, account }) };
  } catch (error) {
    if (error instanceof ParameterRefused) {
      return {
        status: error.structural ? 500 : 200,
        result: { code: resultCodes.parameterInvalid, description: error.message },
      };
    }
    if (!(error instanceof OperationRefused)) throw error;
    return { status: 200, result: { code: error.code, description: error.message } };
  }
}

function authenticate(values: Values, accounts: readonly Account[]): Account {
  const login = textOf(values, "wsLogin");
  const account = accountOf(accounts, login, textOf(values, "wsPassword"));
  if (!account) {
    throw new OperationRefused(resultCodes.badCredentials, `Bad password for login '${login}'`);
  }
  const id = textOf(values, "wsSubAccountId");
  if (id !== "" && !account.subAccounts.some((sub) => String(sub.id) === id)) {
    throw new OperationRefused(resultCodes.subAccountUnknown, `wsSubAccountId ${id} not found`);
  }
  return account;
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
