import { sleep } from "../../shared/time.ts";
import { Ledger } from "./bank/ledger.ts";
import { type ControlApi, startControlApi } from "./control/control-api.ts";
import { type ArmedFault, FaultBox } from "./faults/fault-box.ts";
import { parseFault } from "./faults/fault-request.ts";
import { Memory } from "./memory/memory.ts";
import { StateFile } from "./memory/state-file.ts";
import type { TerminalSimulatorOptions } from "./options.ts";
import { Connections, type Endpoints } from "./port/connections.ts";
import { Parts } from "./zvt/machine/parts.ts";
import { Terminal } from "./zvt/machine/terminal.ts";
import { reverseUnfinished } from "./zvt/machine/unfinished.ts";
import { Trace, type Whereabouts } from "./zvt/trace.ts";

/**
 * A card terminal with a bank behind it:
 *
 *   port/ (bytes) -> link/ (messages) -> machine/terminal.ts -> commands/ -> bank/, memory/
 *
 * with faults/ asked by link and commands, wire/ keeping the trace, control/ as a way in for people
 * and test harnesses.
 */
export class TerminalSimulator {
  readonly options: TerminalSimulatorOptions;
  readonly faults = new FaultBox();
  readonly ledger: Ledger;
  readonly terminal: Terminal;
  readonly trace: Trace;
  readonly #stateFile: StateFile | undefined;
  readonly #connections: Connections;
  readonly #over = new AbortController();
  #control: ControlApi | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: TerminalSimulatorOptions) {
    this.options = options;
    this.#stateFile = options.stateFile ? new StateFile(options.stateFile) : undefined;
    for (const fault of options.faults) this.faults.arm(fault);
    this.ledger = new Ledger(options.clock, this.#stateFile?.ledger);
    const { firstReceiptNumber: receiptNumber, firstTrace: trace } = options.behaviour;
    const parts = new Parts({
      options,
      faults: this.faults,
      memory: new Memory({ receiptNumber, trace }, this.#stateFile?.memory),
      ledger: this.ledger,
      drop: (awayMs) => this.unplug(awayMs),
      reboot: () => this.reboot(),
    });
    reverseUnfinished(parts);
    this.terminal = new Terminal(parts);
    this.trace = new Trace(options.clock, options.traceEvents, () => whereabouts(this.terminal));
    parts.onPhase = (line) => this.trace.phase(line);
    this.faults.onStrike = (name) =>
      this.trace.wire("fault", { what: "fault", direction: "out", note: name });
    this.#connections = new Connections({
      options,
      faults: this.faults,
      trace: this.trace,
      runningCommand: () => this.terminal.process?.control,
      zvtOff: () => this.terminal.parts.zvtOff,
      attach: (line) => this.terminal.attach(line),
    });
  }

  async open(): Promise<void> {
    await this.#connections.open();
    if (this.options.controlPort !== null) {
      this.#control = await startControlApi(this.options.controlPort, this);
    }
    void this.#restartDaily();
  }

  get endpoints(): Endpoints {
    return this.#connections.endpoints;
  }

  /** The TCP port that was taken; undefined without TCP. */
  get tcpPort(): number | undefined {
    return this.endpoints.tcp?.port;
  }

  /** The pseudo-terminal as it is now; undefined without one. */
  get ptyPath(): string | undefined {
    return this.endpoints.pty ?? undefined;
  }

  get controlUrl(): string | undefined {
    return this.#control?.url;
  }

  /** Arms a fault, given as in `--fault`. Throws FaultError. */
  arm(fault: string): ArmedFault {
    return this.faults.arm(parseFault(fault));
  }

  /** Power off and on: the lines are gone for a while, what ran is over. */
  reboot(): void {
    this.terminal.powerCycle();
    void this.unplug(this.options.pace.rebootMs);
  }

  /** Takes socket and pseudo-terminal away for a while; what runs goes on. */
  unplug(awayMs: number): Promise<void> {
    return this.#connections.drop(awayMs);
  }

  /** May be called again. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#over.abort(new Error("the simulator is closing"));
    await this.#control?.close();
    this.terminal.process?.kill("the simulator is closing");
    await this.#connections.close();
    await this.terminal.idle();
    this.#stateFile?.close();
  }

  /**
   * The daily restart, as soon as nothing runs (docs/zvt.md 10.4); anew when clock or time change.
   */
  async #restartDaily(): Promise<void> {
    const { parts } = this.terminal;
    while (!this.#over.signal.aborted) {
      const changed = new AbortController();
      parts.onSchedule = () => changed.abort(new Error("another time"));
      const either = AbortSignal.any([this.#over.signal, changed.signal]);
      const next = parts.nextRestart;
      const waitMs = next ? next.getTime() - parts.now.getTime() : DAY_MS;
      const due = await sleep(this.options.clock, "daily restart", waitMs, either).then(
        () => next !== undefined,
        () => false,
      );
      if (!due) continue;
      await this.terminal.idle();
      this.reboot();
    }
  }
}

const DAY_MS = 24 * 60 * 60 * 1_000;

function whereabouts({ process }: Terminal): Whereabouts {
  if (!process) return {};
  const { control, phase } = process;
  return { command: control.toString(16).padStart(4, "0"), phase, control };
}
