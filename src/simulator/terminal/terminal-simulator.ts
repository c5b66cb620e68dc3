import { DAY_MS, sleep } from "../../shared/time.ts";
import { Ledger } from "./bank/ledger.ts";
import { startControlApi } from "./control/control-api.ts";
import type { Controlled } from "./control/hands.ts";
import { type ArmedFault, FaultBox } from "./faults/fault-box.ts";
import { parseFault } from "./faults/fault-kinds.ts";
import type { Machine, TerminalProtocol } from "./machine.ts";
import { Memory } from "./memory/memory.ts";
import { StateFile } from "./memory/state-file.ts";
import type { TerminalOptions } from "./options.ts";
import { Connections, type Endpoints } from "./port/ports.ts";

/** Starts a terminal that speaks `protocol` and opens its ports. */
export async function openTerminal<O extends TerminalOptions, M extends Machine>(
  protocol: TerminalProtocol<O, M>,
  options: O,
): Promise<TerminalSimulator<O, M>> {
  const simulator = new TerminalSimulator(protocol, options);
  try {
    await simulator.open();
    return simulator;
  } catch (error) {
    await simulator.close();
    throw error;
  }
}

/**
 * A card terminal with a bank of its own. `port/` brings bytes to the protocol's machine, which
 * uses `bank/`, `memory/`, `faults/` and `cardholder.ts`. People and tests use `control/`.
 */
export class TerminalSimulator<
  O extends TerminalOptions = TerminalOptions,
  M extends Machine = Machine,
> implements Controlled
{
  readonly protocol: TerminalProtocol<O, M>;
  readonly options: O;
  readonly faults = new FaultBox();
  readonly ledger: Ledger;
  readonly memory: Memory;
  readonly terminal: M;
  readonly #stateFile: StateFile | undefined;
  readonly #connections: Connections;
  readonly #over = new AbortController();
  readonly supply = { cableIn: true, powered: true };
  #control: Awaited<ReturnType<typeof startControlApi>> | undefined;
  #closed: Promise<void> | undefined;

  constructor(protocol: TerminalProtocol<O, M>, options: O) {
    this.protocol = protocol;
    this.options = options;
    this.#stateFile = options.stateFile ? new StateFile(options.stateFile) : undefined;
    for (const fault of options.faults) this.faults.arm(fault);
    this.ledger = new Ledger(options.clock, this.#stateFile);
    const { firstReceiptNumber: receiptNumber, firstTrace: trace } = options.behaviour;
    this.memory = new Memory({ receiptNumber, trace }, this.#stateFile);
    this.terminal = protocol.machine(this);
    const noted = (line: string, note: string): void =>
      this.terminal.trace.add(line, { what: "fault", direction: "out", note });
    this.faults.onStrike = (name) => noted("fault", name);
    this.#connections = new Connections({
      options,
      connect: (port, transport) => this.terminal.connect(port, transport),
      note: (text) => noted("all lines", text),
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

  get controlUrl(): string | undefined {
    return this.#control?.url;
  }

  /** The addresses of the simulator, as the ready file has them for the launcher. */
  get ways() {
    const { tcp, pty, serial } = this.endpoints;
    return {
      tcp: tcp ? `tcp://${tcp.host}:${tcp.port}` : null,
      tcpPort: tcp?.port ?? null,
      pty,
      serial,
      control: this.controlUrl ?? null,
    };
  }

  /** Arms a fault that is written as in `--fault`. Throws ValueError. */
  arm(fault: string): ArmedFault {
    return this.faults.arm(parseFault(this.protocol.faults, fault));
  }

  reboot(): void {
    this.#losePower();
    void this.unplug(this.options.pace.rebootMs);
  }

  unplug(awayMs: number): Promise<void> {
    return this.#connections.drop(this.supply.cableIn && this.supply.powered ? awayMs : null);
  }

  /** Pulls the cable or plugs it in, even if a fault has already taken the lines away. */
  async setCable(isIn: boolean): Promise<void> {
    if (this.supply.cableIn === isIn && !(isIn && this.#connections.away)) return;
    this.supply.cableIn = isIn;
    await this.unplug(0);
  }

  /** Switches the power on or off. Off ends the running command and takes the lines away. */
  async setPower(on: boolean): Promise<void> {
    if (this.supply.powered === on) return;
    this.supply.powered = on;
    if (!on) this.#losePower();
    await this.unplug(this.options.pace.rebootMs);
  }

  async pause(ms: number): Promise<void> {
    await sleep(this.options.clock, "a hand waits", ms, this.#over.signal);
  }

  #losePower(): void {
    this.terminal.powerCycle();
    this.terminal.parts.screen.show("idle");
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#over.abort(new Error("the terminal simulator is being closed"));
    await this.#control?.close();
    this.terminal.kill("the terminal simulator is being closed");
    await this.#connections.close();
    await this.terminal.idle();
    this.#stateFile?.close();
  }

  /** Restarts the terminal daily when no command runs; a changed clock or time applies at once. */
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
