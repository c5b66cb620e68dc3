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
