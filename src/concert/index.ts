/** The codec that drivers and simulated terminals of the French cash-register protocols share. */
export { applicationName, failureOf, tagName } from "./code-tables.ts";
export { ConcertCodecError, type ConcertFaultCode } from "./errors.ts";
export {
  decodeFixedReply,
  decodeFixedRequest,
  encodeFixedReply,
  encodeFixedRequest,
  FIXED_AMOUNT_MAX,
  type FixedReply,
  type FixedRequest,
  PRIVATE_CHARACTERS,
  REPORT_CHARACTERS,
} from "./fixed-message.ts";
export { bytesOf, textOf } from "./latin-text.ts";
export { damagedText, hasCheckDigit, maskedField, panOfReport, safeText } from "./masking.ts";
export {
  actionResult,
  decodeTagged,
  encodeTagged,
  readTagged,
  type Tagged,
  tagValue,
} from "./tagged-message.ts";
