import { abort } from "./abort.ts";
import {
  diagnosis,
  emptyJobs,
  endOfDay,
  initialisation,
  printConfiguration,
  softwareUpdate,
  turnoverTotals,
} from "./administration.ts";
import { authorisation, preAuthorisation, refund } from "./authorisation.ts";
import type { Command } from "./command.ts";
import { changeSpeed, displayText, resetTerminal, selectLanguage, setDateTime } from "./device.ts";
import { logOff, registration } from "./registration.ts";
import { repeatReceipt } from "./repeat-receipt.ts";
import { bookTotal, partialReversal, preAuthorisationReversal, reversal } from "./reversal.ts";
import { statusEnquiry } from "./status-enquiry.ts";

/** Every command that the terminal knows; all others get 84 83 00 (zvt.md 4.1). */
export const commands: readonly Command[] = [
  registration,
  authorisation,
  logOff,
  turnoverTotals,
  resetTerminal,
  printConfiguration,
  repeatReceipt,
  preAuthorisation,
  partialReversal,
  bookTotal,
  preAuthorisationReversal,
  reversal,
  refund,
  endOfDay,
  diagnosis,
  setDateTime,
  initialisation,
  abort,
  displayText,
  statusEnquiry,
  softwareUpdate,
  selectLanguage,
  changeSpeed,
  ...emptyJobs,
];

const byControl = new Map(commands.map((command) => [command.control, command]));

export function commandOf(control: number): Command | undefined {
  return byControl.get(control);
}
