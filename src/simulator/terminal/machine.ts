import type { FastifyInstance } from "fastify";
import { sleep } from "../../shared/time.ts";
import type { SwitchTable } from "../switch-table.ts";
import type { FaultTable, LineTrait } from "./faults/fault-kinds.ts";
import type { Draft, SerialLine, TerminalOptions } from "./options.ts";
import type { BytePort } from "./port/ports.ts";
import type { Transport, WireEvent } from "./port/register-line.ts";
import { type Host, ProcessOver, type TerminalParts } from "./terminal-parts.ts";
import { type TraceEntry, type TraceEvent, TraceLog } from "./trace-log.ts";

/** One command of a register while it runs, with the moments at which faults can strike. */
export abstract class RunningCommand<P extends TerminalParts, M extends string> {
  readonly parts: P;
  /** The last moment that was reached, for the trace and for `GET /state`. */
  phase: M;
  /** The number by which faults choose the command, where the protocol has one. */
  readonly control: number | undefined = undefined;
  readonly #labels: { readonly line: string; readonly label: string };
  readonly #killed = new AbortController();

  /** `labels`: the line and the name of the command, as the trace shows them. */
  constructor(parts: P, phase: M, labels: { readonly line: string; readonly label: string }) {
    this.parts = parts;
    this.phase = phase;
    this.#labels = labels;
  }

  get whereabouts(): Pick<TraceEvent, "command" | "phase"> {
    return { command: this.#labels.label, phase: this.phase };
  }

  get signal(): AbortSignal {
    return this.#killed.signal;
  }

  /** Ends the command where it stands; everything that waits rejects with {@link ProcessOver}. */
  kill(why: string): void {
    this.#killed.abort(new ProcessOver(why));
  }

  /** Lets the faults of a moment strike. Throws {@link ProcessOver} if one ends the command. */
  async reach(moment: M): Promise<void> {
    this.phase = moment;
    this.parts.onPhase(this.#labels.line);
    for (const struck of this.parts.faults.takeAt(moment, this.control)) {
      await this.parts.strike(struck, this.signal);
    }
    this.signal.throwIfAborted();
  }

  async pause(name: string, delayMs: number): Promise<void> {
    if (delayMs > 0) await sleep(this.parts.clock, name, delayMs, this.signal);
  }
}

/** How a register finds the terminal; `unregistered` is for protocols that have a registration. */
export type Condition = "unregistered" | "ready" | "busy";

/** The part of a simulated terminal that speaks a protocol and runs one command at a time. */
export abstract class Machine<
  P extends TerminalParts = TerminalParts,
  C extends RunningCommand<TerminalParts, string> = RunningCommand<TerminalParts, string>,
> {
  readonly parts: P;
  readonly trace: TraceLog;
  /** Conditions of the protocol, which `GET /state` shows and `POST /state` switches. */
  readonly toggles: Record<string, boolean> = {};
  /** The control API's routes of this protocol, with what `GET /` says of each. */
  abstract readonly routes: Readonly<Record<string, string>>;
  /** The running command; undefined: the terminal waits for one. */
  running: C | undefined;
  #onIdle: (() => void)[] = [];

  constructor(parts: P) {
    this.parts = parts;
    const { clock, traceEvents } = parts.options;
    this.trace = new TraceLog(clock, traceEvents, () => this.running?.whereabouts ?? {});
    parts.onPhase = (line) => this.trace.add(line, { what: "phase" });
  }

  /** Listens to a register on this port. */
  abstract connect(port: BytePort, transport: Transport): void;
  /** Members that the protocol adds to the answer of `GET /state`. */
  abstract state(): object;
  abstract get condition(): Condition;
  abstract addRoutes(server: FastifyInstance): void;
  /** Returns what the trace says of a message, without a card number. */
  protected abstract read(bytes: Uint8Array, direction: "in" | "out"): Partial<TraceEntry>;

  /** The kinds of the terminal's lines; some faults need one of them. */
  get traits(): readonly LineTrait[] {
    const { tcp, pty, serial } = this.parts.options;
    return [...(tcp ? (["tcp"] as const) : []), ...(pty || serial ? (["serial"] as const) : [])];
  }

  /** Switches the power off and on, which ends the running command. */
  powerCycle(): void {
    this.running?.kill("restart");
  }

  /** Resolves when nothing runs. */
  idle(): Promise<void> {
    if (!this.running) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  protected onWire(line: string, { bytes, ...event }: WireEvent): void {
    const read = bytes && this.read(bytes, event.direction ?? "in");
    this.trace.add(line, { ...event, ...read });
  }

  /** Runs a command until its end, or until a fault or a restart has ended it. */
  protected async run(command: C, work: () => Promise<void>): Promise<void> {
    this.running = command;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ProcessOver)) throw error;
    }
    await this.parts.endSilence();
    if (this.running === command) {
      this.running = undefined;
      this.parts.screen.rest();
    }
    for (const idle of this.#onIdle.splice(0)) idle();
  }
}

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
  /** The protocol's own switches, and what `--help` says about their values. */
  readonly switches: SwitchTable<Draft<O>>;
  readonly help: readonly HelpSection[];
  /** Makes the terminal; what the last run of a state file left undone is done first. */
  machine(host: Host<O>): M;
}

export interface HelpSection {
  readonly title: string;
  readonly rows: readonly (readonly [left: string, ...right: readonly string[]])[];
}
