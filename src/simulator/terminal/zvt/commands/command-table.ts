import { administrationCommands } from "./administration.ts";
import { payments } from "./authorisation.ts";
import type { Command } from "./command.ts";
import { deviceCommands } from "./device.ts";
import { displayCommands } from "./display.ts";
import { fileCommands } from "./files.ts";
import { otherPayments } from "./other-payments.ts";
import { readCard } from "./read-card.ts";
import { registrationCommands } from "./registration.ts";
import { receiptCommands } from "./repeat-receipt.ts";
import { reversals } from "./reversal.ts";
import { settingCommands } from "./settings.ts";
import { statusEnquiry } from "./status-enquiry.ts";

/** Every command that the terminal knows; all others get 84 83 00 (docs/zvt.md 4.1). */
const commands: readonly Command[] = [
  ...administrationCommands,
  ...payments,
  ...deviceCommands,
  ...displayCommands,
  ...fileCommands,
  ...otherPayments,
  readCard,
  ...registrationCommands,
  ...receiptCommands,
  ...reversals,
  ...settingCommands,
  statusEnquiry,
];

const byControl = new Map(commands.map((command) => [command.control, command]));

export function commandOf(control: number): Command | undefined {
  return byControl.get(control);
}
