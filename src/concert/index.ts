/**
 * The codec that the drivers and the simulated terminals of the French cash-register protocols
 * share. The folder `link` is the drivers' own: a simulated terminal has another one.
 */
export { actionResult } from "./action-result.ts";
export { applicationName } from "./application-names.ts";
export { ConcertCodecError, type ConcertFaultCode } from "./errors.ts";
export { failureOf } from "./failure-table.ts";
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
export { maskedField, maskedText, panOfReport, shownText } from "./masking.ts";
export { tagName } from "./tag-table.ts";
export {
  decodeTagged,
  encodeTagged,
  readTagged,
  type Tagged,
  tagValue,
} from "./tagged-message.ts";
