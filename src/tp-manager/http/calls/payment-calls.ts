import { finished } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { AppError, errorTable } from "../../../shared/catalog/errors.ts";
import { NOTE_CHARACTERS_MAX } from "../../../shared/ipc/contract.ts";
import { chargedOf } from "../../attempts/phase-table.ts";
import type { PaymentResult } from "../../orders/orders.ts";
import { settleByOperator, settlements } from "../../orders/settlement.ts";
import { amount, newOrderId, note, oneOf, orderId, yesOrNo } from "../body/input.ts";
import { readAmount } from "../body/json-body.ts";
import { paymentRequest, readPaymentRequest } from "../body/payment-request.ts";
import { type Answer, type AnyCall, type CallContext, call } from "../call.ts";
import { send, sendResult, success } from "../envelope.ts";
import { apiErrorOf, assertNotReturnedElsewhere, lookedUp } from "../looked-up.ts";
import { preferencesOf, preferHeader } from "../prefer.ts";

/**
 * The order id in a path. The id is not searched for card numbers, because an order must be found
 * even if the digits of its id look like a card number.
 */
export const params = z.object({ orderId: newOrderId.describe("The order id of the sale.") });

export const paymentCalls: readonly AnyCall[] = [
  call({
    path: "/payment",
    alias: "/",
    // A known order is always answered; a new order is refused while a new version is on trial.
    whileUpdating: true,
    headers: preferHeader,
    body: paymentRequest,
    readsBody: true,
    answersPayment: true,
    document: ({ paymentAnswer, lookup, errors }) => ({
      answer: paymentAnswer,
      accepted: lookup,
      errors: [
        ...errors.money,
        "STORES_DISAGREE",
        "TERMINAL_SALE_UNMATCHED",
        "UPDATING",
        ...errors.notCharged,
        "CARD_DATA_REFUSED",
        "ORDER_REVERSED",
        "ANSWER_NOT_DELIVERED",
        "ORDER_MISMATCH",
        "NOT_SUPPORTED",
        ...errors.notDelivered,
      ],
    }),
    async handle({ headers, request, reply }, at) {
      const order = readPaymentRequest(request.body, at.defaultCurrency);
      const { orderId, generatedId, currency, echo } = order;
      // A URL loses the parts "." and "..": no later lookup can name such an order.
      const isAsync = preferencesOf(headers["prefer"]).isAsync && !/^\.{1,2}$/.test(orderId);
      const repeated = { currency: currency.alpha, ...echo };
      const named = { orderId, ...repeated };
      request.about = { orderId, echo: generatedId ? repeated : named };
      let result: PaymentResult;
      try {
        result = await at.orders.pay(order, isAsync);
      } catch (error) {
        // Any other refusal came before the payment. The order id of a payment that may be stored
        // is answered, so the journal notes when it was written (docs/rules/11-unread.md).
        const isRefused = error instanceof AppError && error.code !== "STORAGE_FAILED";
        if (generatedId && !isRefused) {
          request.about = { orderId, echo: named };
          if (!isAsync) whenWritten(request, reply, at, orderId);
        }
        throw error;
      }
      if (result.isRunning) {
        request.about = { orderId, echo: named };
        const { warnings = [] } = result;
        const { found, body } = await lookedUp(at, orderId);
        if (body.error?.code === "PAYMENT_RUNNING") {
          return sendAccepted(request, reply, {
            ...body,
            warnings: [...body.warnings, ...warnings],
          });
        }
        result = { ...(await at.orders.result(found.attempt, false)), warnings };
      }
      if (generatedId) whenWritten(request, reply, at, orderId);
      followCharge(request, reply, at, result);
      return sendResult(reply, result);
    },
  }),

  call({
    path: "/payment/{orderId}",
    reads: true,
    params,
    headers: preferHeader,
    answersPayment: true,
    document: ({ lookup }) => ({
      answer: lookup,
      also: [504],
      errors: [
        "ORDER_NOT_FOUND",
        "PAYMENT_UNKNOWN",
        "PAYMENT_RUNNING",
        "STORES_DISAGREE",
        "TERMINAL_IN_DOUBT",
      ],
    }),
    async handle({ params: { orderId }, headers, request, reply }, at) {
      const { waitSeconds } = preferencesOf(headers["prefer"]);
      const answer = await at.readers.read(
        { orderId, waitSeconds, reply },
        () => lookedUp(at, orderId).catch(apiErrorOf),
        isOpen,
      );
      if (answer instanceof AppError) throw answer;
      const { found, body } = answer;
      // An answer without the outcome, and the operator's reading, count as no reading by the
      // kiosk (docs/rules/11-unread.md).
      if (found.attempt.request.generatedId && !isOpen(answer) && request.role === "kiosk") {
        whenWritten(request, reply, at, orderId);
      }
      followCharge(request, reply, at, found);
      // The lookup of a declined order succeeds with 200; 504 says that the outcome is not known.
      return send(reply, isOpen(answer) ? 504 : 200, body);
    },
  }),

  call({
    path: "/cancel",
    methods: ["GET", "POST"],
    whileUpdating: true,
    document: ({ done }) => ({
      answer: z.object({ ...done, cancelled: z.literal(true) }),
      errors: ["NOTHING_TO_CANCEL", "CANCEL_REFUSED", "NOT_SUPPORTED"],
    }),
    async handle(_, { arbiter }) {
      await arbiter.running.cancel();
      const message = "The terminal was asked to cancel; the payment's own answer decides.";
      return { ...success, cancelled: true as const, message };
    },
  }),

  call({
    path: "/delivery",
    body: z.strictObject({
      orderId,
      delivered: yesOrNo,
      // Zero means that no goods came out.
      amount: amount().meta({ minimum: 0, exclusiveMinimum: undefined }).nullish(),
    }),
    answersPayment: true,
    document: ({ paymentAnswer, errors }) => ({
      answer: paymentAnswer,
      errors: [
        "ORDER_NOT_FOUND",
        "DELIVERY_DECIDED",
        "CARD_DATA_REFUSED",
        "NOT_SUPPORTED",
        ...errors.notDelivered,
        "PAYMENT_UNKNOWN",
        "PAYMENT_RUNNING",
        "STORES_DISAGREE",
        "TERMINAL_IN_DOUBT",
        // "Not delivered" for a failed order is answered with the reason of the failure.
        ...errors.notCharged,
      ],
    }),
    async handle({ body: { orderId, delivered, amount }, request, reply }, at) {
      request.about = { orderId, echo: {} };
      const currency = () => at.orders.decisive(orderId).request.currency;
      const amountMinor = amount === 0 ? 0 : readAmount(request.body, currency());
      const result = await at.afterSale.deliver(orderId, delivered, amountMinor);
      followCharge(request, reply, at, result);
      return sendResult(reply, result);
    },
  }),

  call({
    path: "/reversal",
    body: z.strictObject({ orderId }),
    answersPayment: true,
    document: ({ paymentAnswer, errors }) => ({
      answer: paymentAnswer,
      errors: [
        ...errors.money,
        "ORDER_NOT_FOUND",
        "ORDER_NOT_CHARGED",
        "REVERSAL_REFUSED",
        "STORES_DISAGREE",
        "CARD_DATA_REFUSED",
        "NOT_SUPPORTED",
        "GATEWAY_OPERATION_OPEN",
        "REVERSAL_NOT_SAFE" as const,
      ],
    }),
    async handle({ body: { orderId }, request, reply }, at) {
      request.about = { orderId, echo: {} };
      await assertNotReturnedElsewhere(at, orderId);
      return sendResult(reply, await at.afterSale.reverse(orderId));
    },
  }),

  call({
    path: "/payment/{orderId}/settle",
    role: "own-operator",
    params,
    body: z.strictObject({
      outcome: oneOf(settlements),
      note: note(NOTE_CHARACTERS_MAX),
      amount: amount().nullish(),
      attempt: z.int().min(1).optional(),
    }),
    answersPayment: true,
    document: ({ paymentAnswer }) => ({
      answer: paymentAnswer,
      errors: [
        "ORDER_NOT_FOUND",
        "PAYMENT_RUNNING",
        "NOTHING_TO_SETTLE",
        "CARD_DATA_REFUSED",
        "SETTLED_NOT_CHARGED",
        "DELIVERY_UNCONFIRMED",
      ],
    }),
    async handle({ params: { orderId }, body, request, reply }, at) {
      const { outcome, note, attempt } = body;
      request.about = { orderId, echo: {} };
      const { currency } = at.orders.decisive(orderId).request;
      const amountMinor = readAmount(request.body, currency);
      const decision = { orderId, outcome, note, attempt, amountMinor };
      return sendResult(reply, await settleByOperator(at, decision));
    },
  }),
];

/** Whether the outcome of an order that was looked up is not known yet. */
function isOpen(answer: AppError | { readonly http: number }): boolean {
  return (answer instanceof AppError ? errorTable[answer.code].http : answer.http) === 504;
}

/** Sends 202: the order's payment runs, and its lookup will have the outcome. */
function sendAccepted(
  { routeOptions }: FastifyRequest,
  reply: FastifyReply,
  body: Answer<"lookup">,
): FastifyReply {
  const root = routeOptions.url?.replace(/\/(payment)?$/, "") ?? "";
  const location = `${root}/payment/${encodeURIComponent(body.orderId)}`;
  void reply.headers({ location, "preference-applied": "respond-async" });
  return send(reply, 202, body);
}

/**
 * Records an answer as read by the kiosk once the answer is written completely
 * (docs/rules/11-unread.md). An answer to HEAD has no body and is not recorded.
 */
function whenWritten(
  { method }: FastifyRequest,
  { raw }: FastifyReply,
  { orders, log }: CallContext,
  orderId: string,
): void {
  if (method === "HEAD") return;
  raw.once("finish", () => {
    try {
      orders.answerRead(orderId);
    } catch (error) {
      log.error({ orderId, err: error }, "could not store that the kiosk has read an answer");
    }
  });
}

/**
 * Records whether the answer about a charged order arrived at the kiosk (docs/rules/11-unread.md).
 * An answer that repeats an earlier one and does not arrive is not recorded, and neither is what
 * the operator reads.
 */
function followCharge(
  { method, role }: FastifyRequest,
  { raw }: FastifyReply,
  { orders, log }: CallContext,
  { attempt, replayed }: Pick<PaymentResult, "attempt" | "replayed">,
): void {
  if (method === "HEAD" || chargedOf(attempt) !== "yes") return;
  const { orderId } = attempt.request;
  // `error` is set if the connection ended before the whole answer was written.
  finished(raw, (error) => {
    const arrived = !error;
    if (arrived ? role === "operator" : replayed) return;
    try {
      orders.chargeAnswered(orderId, arrived);
    } catch (error) {
      const says = "could not store whether the kiosk has read the answer about a charge";
      log.error({ orderId, err: error }, says);
    }
  });
}
