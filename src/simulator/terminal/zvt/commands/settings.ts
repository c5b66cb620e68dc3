import { code } from "../machine/sale.ts";
import { status } from "../machine/texts.ts";
import { configurationLines, printAdministration } from "./administration.ts";
import { type Command, command, commandWhenLocked } from "./command.ts";

/** Set terminal id 06 1B (docs/zvt.md 6.4): only while no transaction is stored. */
const setTerminalId = command(0x061b, async (process) => {
  const { memory } = process.parts;
  const { terminalId } = process.request.fields;
  // Without the field a terminal with keys would ask for it; this one has none.
  if (terminalId === undefined || !/^\d{8}$/.test(terminalId)) {
    return await process.refuse(code.messageWrong);
  }
  await process.accept();
  if (memory.turnover.length > 0) return await process.abort(code.notPossible);
  memory.set({ terminalId });
  await process.complete();
});

/** Change password 06 95 (docs/zvt.md 6.4): from now on commands must bring the new one. */
const changePassword = command(0x0695, async (process) => {
  const { newPassword = "" } = process.request.parts;
  if (!/^\d{6}$/.test(newPassword)) return await process.refuse(code.messageWrong);
  await process.accept();
  process.parts.memory.set({ password: newPassword });
  await process.complete();
});

/** Activate card reader 08 50 (docs/zvt.md 6.4); shown in `GET /state` only, there is no motor. */
const activateReader = commandWhenLocked(0x0850, async (process) => {
  process.parts.reader = process.request.fields.reader ?? 0;
  await process.finish();
});

/** Switch protocol 08 02 (docs/zvt.md 6.4): the last thing that this terminal understands. */
const switchProtocol = commandWhenLocked(0x0802, async (process) => {
  await process.finish();
  process.parts.zvtOff = true;
});

/**
 * Service mode 08 01 (docs/zvt.md 6.4, 10.1): the terminal is master until a key leaves the menu.
 */
const serviceMode = commandWhenLocked(0x0801, async (process) => {
  const { parts } = process;
  await process.accept();
  await process.status(status.serviceMode);
  await printAdministration(process, "SERVICE", configurationLines(parts));
  await process.parts.customerActs({ wanted: "key", waitMs: null, signal: process.signal });
  await process.complete();
});

export const settingCommands: readonly Command[] = [
  setTerminalId,
  changePassword,
  activateReader,
  switchProtocol,
  serviceMode,
];
