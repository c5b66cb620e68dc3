/** The codec that the driver and the simulated terminal of this protocol share. */
export {
  type NexoMessage,
  NONCE_BYTES,
  readMessage,
  writeMessage,
} from "./envelope.ts";
export { NexoCodecError } from "./errors.ts";
export { type NexoKey, nexoKey } from "./key.ts";
export {
  type Body,
  type BodyName,
  bodyOf,
  type HeaderIds,
  headerFor,
  type PaymentResponse,
} from "./message-table.ts";
export { type Notice, readNotice } from "./notices.ts";
export { readAdditional, writePairs } from "./pairs.ts";
export { conditionOf, readRefusal, writeRefusal } from "./refusals.ts";
export {
  majorNumber,
  minorOf,
  readCommonName,
  receiptLine,
  safeId,
  safeText,
  timeOf,
} from "./values.ts";
