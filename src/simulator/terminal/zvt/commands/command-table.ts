import type { Command } from "../machine/process.ts";
import { administrationCommands, deviceCommands, settingCommands } from "./administration.ts";
import { displayCommands, readCard } from "./display.ts";
import { fileCommands } from "./files.ts";
import { otherPayments, payments } from "./payments.ts";
import { registrationCommands, statusEnquiry } from "./registration.ts";
import { receiptCommands, reversals } from "./stored.ts";

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
