import type { PaymentOrder } from "../../terminal.ts";
import { encodeMessage, type FieldInputs } from "../codec/index.ts";
import { anyTime, type Command } from "./command.ts";

/**
 * zvt.md 12: "always send 01 and 02". How long the terminal waits for our answer to its 04 0F, and
 * how often it asks again. We answer at once, so both only matter when this program hangs.
 */
const ANSWER_SECONDS = 30;
const STATUS_INFORMATIONS_MAX = 3;

/** zvt.md 6.2, field 19: the terminal decides how the card is checked. */
const TERMINAL_DECIDES = 0x40;
/** zvt.md 10: set when we take print messages, so that there is a receipt. */
const PRINTER_READY = 0x04;

/** Authorisation 06 01, zvt.md 6.2. */
export function authorisation(
  { amountMinor, currencyNumeric }: PaymentOrder,
  { printerReady }: { readonly printerReady: boolean },
): Command {
  const fields: FieldInputs = {
    amount: amountMinor,
    currency: currencyNumeric.padStart(4, "0"),
    typeByte: TERMINAL_DECIDES | (printerReady ? PRINTER_READY : 0),
    timeoutSeconds: ANSWER_SECONDS,
    maxStatusInfos: STATUS_INFORMATIONS_MAX,
  };
  return {
    name: "authorisation",
    apdu: encodeMessage("authorisation", { fields }),
    replies: ["status-information", ...anyTime],
    ends: "completion",
    judged: true,
  };
}
