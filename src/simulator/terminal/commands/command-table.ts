import { abort } from "./abort.ts";
import { authorisation, preAuthorisation, refund } from "./authorisation.ts";
import type { Command } from "./command.ts";
import { logOff, registration } from "./registration.ts";
import { repeatReceipt } from "./repeat-receipt.ts";
import { statusEnquiry } from "./status-enquiry.ts";

/** Every command that the terminal knows; all others get 84 83 00 (zvt.md 4.1). */
export const commands: readonly Command[] = [
  registration,
  authorisation,
  logOff,
  repeatReceipt,
  preAuthorisation,
  refund,
  abort,
  statusEnquiry,
];

const byControl = new Map(commands.map((command) => [command.control, command]));

export function commandOf(control: number): Command | undefined {
  return byControl.get(control);
}
