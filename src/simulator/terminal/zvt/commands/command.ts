import type { Process } from "../machine/process.ts";

/** One command of the register: how the terminal carries it out. */
export interface Command {
  readonly control: number;
  /**
   * Carried out in a locked terminal too: the list of docs/zvt.md 5.3, and the commands that have
   * no completion to refuse with. These commands need no registration either.
   */
  readonly whenLocked: boolean;
  run(process: Process): Promise<void>;
}

export function command(control: number, run: Command["run"]): Command {
  return { control, run, whenLocked: false };
}

export function commandWhenLocked(control: number, run: Command["run"]): Command {
  return { control, run, whenLocked: true };
}
