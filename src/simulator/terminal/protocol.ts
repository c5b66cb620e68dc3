import type { FastifyInstance } from "fastify";
import type { SwitchTable } from "../switch-table.ts";
import type { Ledger } from "./bank/ledger.ts";
import type { Cardholder } from "./customer.ts";
import type { FaultBox } from "./faults/fault-box.ts";
import type { FaultTable, LineTrait } from "./faults/fault-table.ts";
import type { Memory } from "./memory/memory.ts";
import type { Draft, SerialLine, TerminalOptions } from "./options.ts";
import type { BytePort } from "./port/byte-port.ts";
import type { Screen } from "./screen.ts";
import type { TraceLog } from "./trace-log.ts";

/** A protocol that the simulated terminal can speak. */
export interface TerminalProtocol<
  O extends TerminalOptions = TerminalOptions,
  M extends Machine = Machine,
> {
  /** The word for `--protocol`. */
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

/** The parts that every terminal has, whatever protocol it speaks. */
export interface Host<O extends TerminalOptions> {
  readonly options: O;
  readonly memory: Memory;
  readonly ledger: Ledger;
  readonly faults: FaultBox;
  /** Takes all lines away and brings them back after `awayMs`. */
  drop(awayMs: number): Promise<void>;
  reboot(): void;
}

/** The part of a simulated terminal that speaks a protocol. */
export interface Machine {
  readonly parts: MachineParts;
  readonly trace: TraceLog;
  /** Listens to a register on this port. */
  connect(port: BytePort, transport: "tcp" | "serial"): void;
  /** Power off and on: whatever ran is gone. */
  powerCycle(): void;
  /** Ends what runs where it stands. */
  stop(why: string): void;
  /** Resolves when nothing runs. */
  idle(): Promise<void>;
  /** Members of the answer to `GET /state` beside those of every terminal. */
  state(): object;
  readonly condition: Condition;
  /** The lines as they were opened: some faults need one of a kind. */
  readonly traits: readonly LineTrait[];
  /** Conditions that `POST /state` switches by name. */
  readonly toggles: Readonly<Record<string, Toggle>>;
  /** Routes of the control API that only this protocol has, and what `GET /` says of them. */
  readonly routes: Readonly<Record<string, string>>;
  addRoutes(server: FastifyInstance): void;
}

/** How a register finds the terminal; `unregistered` is for protocols that have such a thing. */
export type Condition = "unregistered" | "ready" | "busy";

/** Hands can take both from a terminal. */
export interface Supply {
  readonly cableIn: boolean;
  readonly powered: boolean;
}

export interface Toggle {
  on: boolean;
}

/** The parts of a terminal that the control API and the daily restart use. */
export interface MachineParts {
  readonly customer: Cardholder;
  readonly screen: Screen;
  /** Takes no cards until unlocked. */
  outOfOrder: boolean;
  /** True: somebody uses the terminal's own menu. */
  busy: boolean;
  paperOut: boolean;
  /** True: another one of its kind stands in its place. */
  swapped: boolean;
  /** HH:MM of the daily restart on the terminal's clock; null: none. */
  restartAt: string | null;
  /** Told when the clock or the time of the daily restart has changed. */
  onSchedule: () => void;
  /** The terminal's own clock. */
  readonly now: Date;
  readonly nextRestart: Date | undefined;
  /** Lets everything go on that a fault holds. */
  release(): void;
}
