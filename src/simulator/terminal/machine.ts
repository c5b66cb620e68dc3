import type { FastifyInstance } from "fastify";
import { sleep } from "../../shared/time.ts";
import type { SwitchTable } from "../switch-table.ts";
import type { FaultTable, LineTrait } from "./faults/fault-kinds.ts";
import type { Draft, SerialLine, TerminalOptions } from "./options.ts";
import type { BytePort, Transport } from "./port/ports.ts";
import type { WireEvent } from "./port/register-line.ts";
import { type Host, ProcessOver, type TerminalParts } from "./terminal-parts.ts";
import { type TraceEntry, TraceLog, type Whereabouts } from "./trace-log.ts";

/** A command of the cash register while it runs. Faults can strike at named moments of it. */
export abstract class RunningCommand<P extends TerminalParts, M extends string> {
  readonly parts: P;
  /** The moment of the command, such as `card` or `charged`, that was reached last. */
  phase: M;
  /** The number of a ZVT command (06 01: payment); undefined: the protocol has no numbers. */
  readonly control: number | undefined = undefined;
  readonly #labels: { readonly line: string; readonly label: string };
  readonly #killed = new AbortController();

  constructor(parts: P, phase: M, labels: { readonly line: string; readonly label: string }) {
    this.parts = parts;
    this.phase = phase;
    this.#labels = labels;
  }

  get whereabouts(): Whereabouts {
    return { command: this.#labels.label, phase: this.phase };
  }

  get signal(): AbortSignal {
    return this.#killed.signal;
  }

  /** Ends the command at once: everything it waits for rejects with {@link ProcessOver}. */
  kill(why: string): void {
    this.#killed.abort(new ProcessOver(why));
  }

  /** Carries out this moment's faults. Throws {@link ProcessOver} if a fault ends the command. */
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

/** The refusal by the control API of what is not possible now; the message gives the reason. */
export class NotNow extends Error {
  override readonly name = "NotNow";
  readonly statusCode = 409;
}

/** Whether the terminal can serve a register; `unregistered` exists in ZVT only. */
export type Condition = "unregistered" | "ready" | "busy";

/** The part of a simulated terminal that speaks one protocol and runs one command at a time. */
export abstract class Machine<
  P extends TerminalParts = TerminalParts,
  C extends RunningCommand<TerminalParts, string> = RunningCommand<TerminalParts, string>,
> {
  readonly parts: P;
  readonly trace: TraceLog;
  /** States of the terminal that `GET /state` shows and `POST /state` switches, by name. */
  readonly toggles: Record<string, boolean> = {};
  /** The control API's routes for this protocol, each with its description for `GET /`. */
  abstract readonly routes: Readonly<Record<string, string>>;
  running: C | undefined;
  #onIdle: (() => void)[] = [];

  constructor(parts: P) {
    this.parts = parts;
    const { clock, traceEvents } = parts.options;
    this.trace = new TraceLog(clock, traceEvents, () => this.running?.whereabouts ?? {});
    parts.onPhase = (line) => this.trace.add(line, { what: "phase" });
  }

  abstract connect(port: BytePort, transport: Transport): void;
  /** Returns the members that the protocol adds to the answer of `GET /state`. */
  abstract state(): object;
  abstract get condition(): Condition;
  abstract addRoutes(server: FastifyInstance): void;
  /** Returns a message in a form for the trace, without a card number. */
  protected abstract read(bytes: Uint8Array, direction: "in" | "out"): Partial<TraceEntry>;

  /** The properties of the terminal's lines (such as TCP or serial), which some faults need. */
  get traits(): readonly LineTrait[] {
    const { tcp, pty, serial } = this.parts.options;
    return [...(tcp ? (["tcp"] as const) : []), ...(pty || serial ? (["serial"] as const) : [])];
  }

  /** Switches the power off and on again, which ends the running command. */
  powerCycle(): void {
    this.kill("restart");
  }

  /** Ends everything that the terminal does, because its power failed or its program ends. */
  kill(why: string): void {
    this.running?.kill(why);
  }

  idle(): Promise<void> {
    if (!this.running) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  protected lineOptions({ name }: BytePort, transport: Transport) {
    const { clock, faults } = this.parts;
    const onWire = ({ bytes, ...event }: WireEvent): void => {
      const read = bytes && this.read(bytes, event.direction ?? "in");
      this.trace.add(name, { ...event, ...read });
    };
    return { clock, transport, faults, onWire };
  }

  /** Runs a command until it ends, or until a fault or a restart ends it. */
  protected async run(command: C, work: () => Promise<void>): Promise<void> {
    this.running = command;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ProcessOver)) throw error;
    }
    await this.parts.endSilence(command.signal);
    if (this.running === command) {
      this.running = undefined;
      this.parts.screen.rest();
    }
    for (const idle of this.#onIdle.splice(0)) idle();
  }
}

export interface TerminalProtocol<
  O extends TerminalOptions = TerminalOptions,
  M extends Machine = Machine,
> {
  /** The value of `--protocol`. */
  readonly name: string;
  /** The protocol's name for people. */
  readonly title: string;
  readonly defaults: Omit<O, "clock">;
  /** The settings of the serial line, unless switches change them. */
  readonly serialLine: SerialLine;
  /** The device's serial numbers that the protocol can carry; `says`: the same for `--help`. */
  readonly serialNumber: { readonly form: RegExp; readonly says: string };
  readonly faults: FaultTable;
  /** The maintenance demands (such as an end of day) that `POST /state` can switch on. */
  readonly demands: readonly string[];
  readonly switches: SwitchTable<Draft<O>>;
  readonly help: readonly HelpSection[];
  /** Makes the terminal. A ZVT terminal first reverses charges that a power cut left unfinished. */
  machine(host: Host<O>): M;
}

export interface HelpSection {
  readonly title: string;
  readonly rows: readonly (readonly [left: string, ...right: readonly string[]])[];
}
