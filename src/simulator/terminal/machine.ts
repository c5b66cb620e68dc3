import type { FastifyInstance } from "fastify";
import type { LineTrait } from "./faults/fault-table.ts";
import type { BytePort } from "./port/byte-port.ts";
import type { Transport, WireEvent } from "./port/register-line.ts";
import type { RunningCommand } from "./running-command.ts";
import { ProcessOver, type TerminalParts } from "./terminal-parts.ts";
import { type TraceEntry, TraceLog } from "./trace-log.ts";

/** How a register finds the terminal; `unregistered` is for protocols that have a registration. */
export type Condition = "unregistered" | "ready" | "busy";

/** The part of a simulated terminal that speaks a protocol and runs one command at a time. */
export abstract class Machine<
  P extends TerminalParts = TerminalParts,
  C extends RunningCommand<TerminalParts, string> = RunningCommand<TerminalParts, string>,
> {
  readonly parts: P;
  readonly trace: TraceLog;
  /** Conditions that `POST /state` switches by name. */
  readonly toggles: Readonly<Record<string, { on: boolean }>> = {};
  /** Routes of the control API that only this protocol has, and what `GET /` says of them. */
  abstract readonly routes: Readonly<Record<string, string>>;
  /** The running command; undefined: the register is master. */
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
  /** The lines as they were opened: some faults need one of a kind. */
  abstract get traits(): readonly LineTrait[];
  abstract addRoutes(server: FastifyInstance): void;
  /** The trace's words for a message, without a card number. */
  protected abstract read(bytes: Uint8Array, direction: "in" | "out"): Partial<TraceEntry>;

  /** Power off and on: the running command is gone. */
  powerCycle(): void {
    this.running?.kill("restart");
  }

  /** Ends the running command where it stands. */
  stop(why: string): void {
    this.running?.kill(why);
  }

  /** Resolves when nothing runs. */
  idle(): Promise<void> {
    if (!this.running) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  protected onWire(line: string, { bytes, ...event }: WireEvent): void {
    const words = bytes && this.read(bytes, event.direction ?? "in");
    this.trace.add(line, { ...event, ...words });
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
