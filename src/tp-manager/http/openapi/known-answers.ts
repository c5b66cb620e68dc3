import { z } from "zod";
import * as request from "../body/payment-request.ts";
import * as gateway from "./gateway.ts";
import * as installation from "./installation.ts";
import * as payments from "./payments.ts";
import * as schemas from "./schemas.ts";

const { accepted, jsonValue, transactionId } = schemas;
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
  receipt: schemas.receipt,
  attempt: payments.attempt,
  unmatchedTransaction: payments.unmatchedTransaction,
  health: installation.health,
  reconciliation: installation.reconciliation,
  foundPayment: payments.foundPayment,
  act: installation.act,
  setting: installation.setting,
  logLine: installation.logLine,
  doctor: installation.doctor,
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
  paymentRequest: request.paymentRequest,
  basket: request.basket,
  cartObject: request.cartObject,
  customer: request.customer,
  customData: request.customData,
  outcomeError: schemas.outcomeError,
};

/**
 * The error codes and answers from which a call record's `document` chooses. Only the generator of
 * openapi.json and tests load them, never a running process.
 */
export const known = {
  ...namedSchemas,
  errors: schemas.paymentErrors,
  accepted,
  done,
  orderId: schemas.orderId,
  operationId: gateway.operationId,
  publicId: gateway.publicId,
  timeline: payments.timeline,
  check: installation.check,
  copy: installation.copy,
  day: installation.day,
  search: payments.search,
  openApi: z
    .object({ openapi: z.string(), info: z.object({ title: z.string() }).catchall(jsonValue) })
    .catchall(jsonValue),
};
export type Known = typeof known;
