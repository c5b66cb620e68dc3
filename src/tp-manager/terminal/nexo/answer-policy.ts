import {
  type Body,
  type BodyName,
  bodyOf,
  conditionOf,
  NexoCodecError,
  type NexoMessage,
  type PaymentResponse,
  readAdditional,
  safeText,
} from "../../../nexo/index.ts";
import type { AbortReason, CancelAnswer, RecallOrder, TerminalStatus } from "../terminal.ts";

/* What an answer of the terminal says. Pure. */

/** What says in a body how a command ended. */
type Ended = Pick<PaymentResponse, "Response"> & Partial<PaymentResponse>;

/** How a payment or a reversal ended, by its own answer (docs/nexo.md 4.2, 9.1). */
export type Reading =
  | { readonly reading: "approved"; readonly text: string }
  | {
      readonly reading: "failed";
      readonly code: string;
      readonly text: string;
      readonly reason: AbortReason;
    }
  /** The answer proves neither a charge nor its absence. */
  | { readonly reading: "unclear"; readonly text: string }
  /** The terminal began nothing. `busyWith`: the request that it carries out, if it names one. */
  | {
      readonly reading: "not-begun";
      readonly code: string;
      readonly text: string;
      readonly isBusy: boolean;
      readonly busyWith: string | null;
    };

/** The text of a refusal begins with this number when no card came in time. */
const NO_CARD = "126";

/** Reads the result of a body. */
export function readResponse(body: Ended): Reading {
  const { Result, ErrorCondition, AdditionalResponse } = body.Response;
  const pairs = readAdditional(AdditionalResponse);
  const said = ["refusalReason", "message", "errors"].flatMap((name) => pairs.get(name) ?? []);
  if (Result === "Partial") return { reading: "approved", text: "approved in part" };
  if (Result === "Success" && !ErrorCondition) return { reading: "approved", text: "approved" };
  const code = safeText(ErrorCondition ?? Result);
  const text = safeText(said[0] ?? code);
  const condition = conditionOf(ErrorCondition);
  if (Result !== "Failure" || condition === "running" || condition === "not-found") {
    return { reading: "unclear", text: `the terminal answered ${safeText(Result)}, ${code}` };
  }
  if (condition === "busy" || condition === "message") {
    const busyWith = pairs.get("serviceId") ?? null;
    return { reading: "not-begun", code, text, isBusy: condition === "busy", busyWith };
  }
  // That the platform then gives the money back is an inference: nobody may rely on it.
  if (
    showsApproval(body, pairs) ||
    (condition !== "declined" && mayBeApproved(body, said, pairs))
  ) {
    return { reading: "unclear", text: `${code} after the bank had approved: ${text}` };
  }
  const reason = condition ?? "terminal-fault";
  const isLate = reason === "cancelled" && said.some((one) => one.startsWith(NO_CARD));
  return { reading: "failed", code, text, reason: isLate ? "customer-timeout" : reason };
}

/** Whether a failed answer has what only an approval has. */
function showsApproval({ PaymentResult }: Ended, pairs: ReadonlyMap<string, string>): boolean {
  const { AmountsResp, PaymentAcquirerData } = PaymentResult ?? {};
  const code = PaymentAcquirerData?.ApprovalCode ?? pairs.get("authCode");
  return Boolean(code) || Number(AmountsResp?.AuthorizedAmount ?? 0) !== 0;
}

/** Whether a failure that is no refusal of the bank may be one after its approval. */
function mayBeApproved(
  { POIData }: Ended,
  said: readonly string[],
  pairs: ReadonlyMap<string, string>,
): boolean {
  const texts = [...said, pairs.get("refusalReasonRaw") ?? ""];
  // After the dot stands the bank's reference, which a payment has that the bank was asked for.
  const hasReference = POIData?.POITransactionID?.TransactionID.includes(".") === true;
  return hasReference || texts.some((one) => /approved/i.test(one));
}

/**
 * Reads the answer that the terminal remembers of a command of ours. Of a reversal, only that it
 * was not begun is proved.
 */
export function readRepeated(body: Ended, { command }: RecallOrder): Reading {
  const reading = readResponse(body);
  if (reading.reading !== "failed" || command !== "reversal") return reading;
  return { reading: "unclear", text: safeText(`${reading.code}: ${reading.text}`) };
}

/** What the terminal remembers of an earlier request of ours (docs/nexo.md 6.1). */
type Remembered =
  /** The original answer; that to a reversal has no result of a payment. */
  | { readonly remembered: "answer"; readonly body: PaymentResponse }
  | { readonly remembered: "running" }
  | { readonly remembered: "not-found" }
  /** It did not answer the question. */
  | { readonly remembered: "no-answer"; readonly isBusy: boolean; readonly why: string }
  | { readonly remembered: "nothing-clear"; readonly why: string };

/** A request of ours, by the ids that its answer repeats. */
interface OwnRequest {
  readonly category: "Payment" | "Reversal";
  readonly saleId: string;
  readonly serviceId: string;
}

/** Reads the answer to a question by id. */
export function readRemembered(message: NexoMessage, own: OwnRequest): Remembered {
  const unclear = (why: string): Remembered => ({ remembered: "nothing-clear", why });
  const body = readBody(message, "TransactionStatusResponse");
  if (typeof body === "string") return unclear(body);
  const { Result, ErrorCondition } = body.Response;
  if (Result !== "Success") {
    const condition = conditionOf(ErrorCondition);
    if (condition === "running" || condition === "not-found") return { remembered: condition };
    const why = safeText(`it answered the question by id with ${ErrorCondition ?? Result}`);
    return { remembered: "no-answer", isBusy: condition === "busy", why };
  }
  const repeated = body.RepeatedMessageResponse;
  const { PaymentResponse: payment, ReversalResponse: reversal } =
    repeated?.RepeatedResponseMessageBody ?? {};
  const inner = own.category === "Payment" ? payment : reversal;
  if (!inner) return unclear(`it repeated no answer to a ${own.category}`);
  const references = [body.MessageReference, repeated?.MessageHeader];
  const sale = payment?.SaleData?.SaleTransactionID?.TransactionID;
  const ids = [...references.map((one) => one?.ServiceID), sale].filter((id) => id !== undefined);
  // The reference only repeats our question. A reversal's answer may have no id of its own.
  const isNamed = payment ? (repeated?.MessageHeader?.ServiceID ?? sale) !== undefined : true;
  const isOurs =
    isNamed &&
    ids.length > 0 &&
    ids.every((id) => id === own.serviceId) &&
    references.every(
      (one) =>
        one === undefined ||
        ((one.MessageCategory ?? own.category) === own.category &&
          (one.SaleID ?? own.saleId) === own.saleId),
    );
  if (!isOurs) return unclear("it repeated the answer to another request");
  // Its form is not known: the answer may say within that the command has not ended.
  const { Response } = inner;
  const condition = Response.Result === "Failure" && conditionOf(Response.ErrorCondition);
  if (condition === "running" || condition === "not-found") return { remembered: condition };
  const busyWith = readAdditional(Response.AdditionalResponse).get("serviceId");
  if (condition === "busy" && busyWith === own.serviceId) return { remembered: "running" };
  return { remembered: "answer", body: inner };
}

/** Returns the body of an answer, or why it cannot be read. */
export function readBody<N extends BodyName>(message: NexoMessage, name: N): Body<N> | string {
  try {
    return bodyOf(message, name);
  } catch (error) {
    if (error instanceof NexoCodecError) return error.message;
    throw error;
  }
}

/** Reads the answer that some terminals may give to an abort (docs/nexo.md 5.1). */
export function readAborted(message: NexoMessage): CancelAnswer {
  const body = readBody(message, "AbortResponse");
  if (typeof body === "string") return { answer: "no-answer", text: body };
  const { Result, ErrorCondition } = body.Response;
  if (Result === "Success") return { answer: "taken" };
  const { text } = readResponse(body);
  return { answer: "refused", code: safeText(ErrorCondition ?? Result), text };
}

/** Returns the status by a terminal's answer to a diagnosis (docs/nexo.md 8.1). */
export function readStatus(body: Body<"DiagnosisResponse">): TerminalStatus {
  const reading = readResponse(body);
  if (reading.reading === "not-begun" && reading.isBusy) return statusOf("1", reading.text);
  const state =
    reading.reading === "approved" ? (body.POIStatus?.GlobalStatus ?? "OK") : reading.text;
  if (state === "OK") return statusOf("0", "ready");
  return statusOf(state === "Busy" ? "1" : "2", `the terminal reports ${safeText(state)}`);
}

export function statusOf(cr: TerminalStatus["cr"], detail: string): TerminalStatus {
  return { cr, card: "0", call: "0", periph: "0", detail };
}
