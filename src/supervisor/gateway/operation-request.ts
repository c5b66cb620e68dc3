import type { SupervisorRequest } from "../../shared/ipc/contract.ts";
import { formatMajor } from "../../shared/money.ts";
import type { AnswerField, AskedFor } from "./asked-for.ts";
import { faultTable } from "./fault-table.ts";
import type { Verdict } from "./faults.ts";
import type { GatewaySettings } from "./order-request.ts";
import type { SoapParameters } from "./soap-writer.ts";

/** A confirm, cancel or refund of one transaction of the gateway, which is sent once. */
export type OperationRequest = Omit<
  SupervisorRequest<"gateway-operation">,
  "key" | "unlessRepeated"
>;
export type OperationKind = OperationRequest["kind"];

/** The SOAP service and operation for a confirm, a cancel and a refund (docs/design.md 12.14). */
export const operationAddresses = {
  confirm: { service: "transaction-v2", operation: "confirm" },
  cancel: { service: "transaction-v2", operation: "cancel" },
  refund: { service: "refund-v2", operation: "card" },
} as const satisfies Record<OperationKind, { service: string; operation: string }>;

const neededFields: Readonly<Record<OperationKind, readonly AnswerField[]>> = {
  confirm: ["transactionPublicId"],
  cancel: ["transactionPublicId"],
  refund: ["transactionPublicId", "amount", "currency"],
};

/** Returns what the answer to an operation must agree with (docs/rules/21-agree.md). */
export function operationAskedFor(request: OperationRequest): AskedFor {
  const { kind, transactionPublicId, amountMinor, currency, exponent } = request;
  return { transactionPublicId, amountMinor, currency, exponent, needed: neededFields[kind] };
}

/** Returns the parameters of an operation; a refund names no currency (docs/gateway.md 2.2). */
export function operationParameters(
  { kind, transactionPublicId, amountMinor, currency, exponent }: OperationRequest,
  settings: GatewaySettings,
): SoapParameters {
  const amount = amountMinor === null ? undefined : formatMajor(amountMinor, exponent);
  const credentials = { wsLogin: settings.GATEWAY_LOGIN, wsPassword: settings.GATEWAY_PWD };
  const { GATEWAY_WEBSITE_ID: websiteId } = settings;
  switch (kind) {
    case "confirm":
      return { ...credentials, transactionPublicId, amount, currency: amount && currency };
    case "cancel":
      return { ...credentials, transactionPublicId };
    case "refund":
      return { ...credentials, websiteId, transactionPublicId, amount };
  }
}

/**
 * The state of an operation. "sending": the operation is on disk and its answer is awaited.
 * "unknown": the answer was lost; nothing is sent again (docs/rules/35-gateway-returns.md).
 */
export type OperationState = "sending" | "done" | "refused" | "not-sent" | "unknown";

/**
 * Returns an operation's state after its request, which is sent only once. "not-sent": nothing left
 * this machine, or the request itself was refused, so that nothing was done.
 */
export function operationEnd(verdict: Verdict): Exclude<OperationState, "sending"> {
  const { action, ambiguous, ambiguousOnce } = faultTable[verdict.class];
  // A proxy's filter answers so in place of the gateway, even after the gateway has answered.
  const mayBeFiltered = verdict.httpStatus === 403 && verdict.code === null;
  if (ambiguous || ambiguousOnce || mayBeFiltered) return "unknown";
  if (action === "sent") return "done";
  return verdict.code === null ? "not-sent" : "refused";
}
