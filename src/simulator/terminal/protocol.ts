import type { SwitchTable } from "../switch-table.ts";
import type { FaultTable } from "./faults/fault-table.ts";
import type { Machine } from "./machine.ts";
import type { Draft, SerialLine, TerminalOptions } from "./options.ts";
import type { Host } from "./terminal-parts.ts";

/** A protocol that the simulated terminal can speak. */
export interface TerminalProtocol<
  O extends TerminalOptions = TerminalOptions,
  M extends Machine = Machine,
> {
  /** The value of `--protocol`. */
  readonly name: string;
  readonly defaults: Omit<O, "clock">;
  /** Settings of `--serial` when no switch says otherwise. */
  readonly serialLine: SerialLine;
  readonly faults: FaultTable;
  /** Jobs that may be due, for `POST /state`. */
  readonly demands: readonly string[];
  /** Switches of its own, and what `--help` says about their values. */
  readonly switches: SwitchTable<Draft<O>>;
  readonly help: readonly HelpSection[];
  /** Puts the terminal together; what the last run of a state file left undone is done first. */
  machine(host: Host<O>): M;
}

export interface HelpSection {
  readonly title: string;
  readonly rows: readonly (readonly [left: string, ...right: readonly string[]])[];
}
