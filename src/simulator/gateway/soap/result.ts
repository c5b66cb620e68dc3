import type { Account } from "../account.ts";
import type { SandboxParts } from "../parts.ts";

/** The parts that an operation may use, and the account it works for. */
export interface OperationContext extends SandboxParts {
  readonly account: Account;
  /** Scheme and host of the request, for addresses in answers. */
  readonly baseUrl: string;
}

/** The children of the result element, by name. */
export interface Result {
  readonly code: number;
  readonly description: string;
  readonly [name: string]: string | number;
}

/** docs/gateway.md 2.6. The numbers from 20 on are ours: the real ones are not public. */
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
