import { z } from "zod";
import {
  basket,
  cartObject,
  customData,
  customer,
  paymentRequest,
} from "../body/payment-request.ts";
import * as gateway from "./gateway.ts";
import {
  act,
  check,
  copy,
  day,
  doctor,
  health,
  logLine,
  reconciliation,
  setting,
} from "./installation.ts";
import * as payments from "./payments.ts";
import {
  accepted,
  jsonValue,
  orderId,
  outcomeError,
  paymentErrors,
  receipt,
  transactionId,
} from "./schemas.ts";

const done = { ...accepted, message: z.string() };
const message = z.object(done);
const outboxDone = z.object({ ...accepted, transactionId, message: z.string() });

/**
 * The schemas that have a name in the document, in the document's order: those that several calls
 * or the client use. The texts of their members stand under that name in document-en.json.
 */
export const namedSchemas = {
  paymentAnswer: payments.paymentAnswer,
  listedPayment: payments.listedPayment,
  lookup: payments.lookup,
  receipt,
  attempt: payments.attempt,
  unmatchedTransaction: payments.unmatchedTransaction,
  health,
  reconciliation,
  foundPayment: payments.foundPayment,
  act,
  setting,
  logLine,
  doctor,
  operationDone: gateway.operationDone,
  gatewayStanding: gateway.gatewayStanding,
  gatewayTransaction: gateway.gatewayTransaction,
  openAtGateway: gateway.openAtGateway,
  outboxItem: gateway.outboxItem,
  outboxDone,
  message,
  attemptEvent: payments.attemptEvent,
  baseline: payments.baseline,
  jsonValue,
  transactionReport: payments.transactionReport,
  observation: payments.observation,
  paymentRequest,
  basket,
  cartObject,
  customer,
  customData,
  outcomeError: outcomeError,
};

/**
 * The error codes and answers from which a call record's `document` chooses. Only the generator of
 * openapi.json and tests load them, never a running process.
 */
export const known = {
  ...namedSchemas,
  errors: paymentErrors,
  accepted,
  done,
  orderId,
  operationId: gateway.operationId,
  publicId: gateway.publicId,
  timeline: payments.timeline,
  check,
  copy,
  day,
  search: payments.search,
  openApi: z
    .object({ openapi: z.string(), info: z.object({ title: z.string() }).catchall(jsonValue) })
    .catchall(jsonValue),
};
export type Known = typeof known;
