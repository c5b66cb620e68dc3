/**
 * The codec that the drivers and the simulated terminals of the French cash-register protocols
 * share.
 */
export { applicationName, failureOf, tagName } from "./code-tables.ts";
export { ConcertCodecError, type ConcertFaultCode } from "./errors.ts";
export {
  decodeFixedReply,
  encodeFixedReply,
  type FixedReply,
  REPORT_CHARACTERS,
} from "./fixed-reply.ts";
export {
  decodeFixedRequest,
  encodeFixedRequest,
  FIXED_AMOUNT_MAX,
  type FixedRequest,
  PRIVATE_CHARACTERS,
} from "./fixed-request.ts";
export { bytesOf, textOf } from "./latin-text.ts";
export { maskedField, panOfReport, safeText } from "./masking.ts";
export {
  actionResult,
  decodeTagged,
  encodeTagged,
  readTagged,
  type Tagged,
  tagValue,
} from "./tagged-message.ts";
