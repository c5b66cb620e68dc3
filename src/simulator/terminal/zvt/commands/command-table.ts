import { abort } from "./abort.ts";
import {
  diagnosis,
  endOfDay,
  initialisation,
  selftest,
  sendOffline,
  softwareUpdate,
  turnoverTotals,
} from "./administration.ts";
import { authorisation, cardPoll, preAuthorisation, refund } from "./authorisation.ts";
import type { Command } from "./command.ts";
import { printConfiguration } from "./configuration.ts";
import { changeSpeed, resetTerminal, selectLanguage, setDateTime } from "./device.ts";
import { displayText, displayTextInput, displayTextNumeric } from "./display.ts";
import { changeConfiguration, deleteFile, writeFile } from "./files.ts";
import { accountBalance, bookTip, telephonicAuthorisation } from "./other-payments.ts";
import { readCard } from "./read-card.ts";
import { logOff, registration } from "./registration.ts";
import { repeatReceipt, reprint } from "./repeat-receipt.ts";
import { bookTotal, partialReversal, preAuthorisationReversal, reversal } from "./reversal.ts";
import {
  activateReader,
  changePassword,
  serviceMode,
  setTerminalId,
  switchProtocol,
} from "./settings.ts";
import { statusEnquiry } from "./status-enquiry.ts";

/** Every command that the terminal knows; all others get 84 83 00 (docs/zvt.md 4.1). */
const commands: readonly Command[] = [
  registration,
  authorisation,
  logOff,
  accountBalance,
  bookTip,
  turnoverTotals,
  reprint,
  resetTerminal,
  printConfiguration,
  setTerminalId,
  repeatReceipt,
  telephonicAuthorisation,
  preAuthorisation,
  partialReversal,
  bookTotal,
  preAuthorisationReversal,
  reversal,
  refund,
  endOfDay,
  sendOffline,
  diagnosis,
  selftest,
  setDateTime,
  initialisation,
  changePassword,
  abort,
  readCard,
  displayText,
  displayTextInput,
  displayTextNumeric,
  cardPoll,
  statusEnquiry,
  serviceMode,
  switchProtocol,
  softwareUpdate,
  deleteFile,
  changeConfiguration,
  writeFile,
  selectLanguage,
  changeSpeed,
  activateReader,
];

const byControl = new Map(commands.map((command) => [command.control, command]));

export function commandOf(control: number): Command | undefined {
  return byControl.get(control);
}
