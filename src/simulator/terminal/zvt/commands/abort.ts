import type { Command } from "./command.ts";

/** Abort 06 B0 with no command running: gives a card back, if there is one (docs/zvt.md 6.6). */
export const abort: Command = {
  control: 0x06b0,
  whenLocked: true,
  async run(process) {
    process.parts.readCard = undefined;
    await process.finish();
  },
};
