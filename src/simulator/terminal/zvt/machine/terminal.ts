import type { FastifyInstance } from "fastify";
import {
  type Apdu,
  decodeApdu,
  decodeMessage,
  encodeApdu,
  encodeMessage,
  type Message,
  ZvtCodecError,
} from "../../../../zvt/index.ts";
import type { LineTrait } from "../../faults/fault-table.ts";
import { lineTraits } from "../../options.ts";
import type { BytePort } from "../../port/byte-port.ts";
import type { Condition, Machine } from "../../protocol.ts";
import { ProcessOver } from "../../terminal-parts.ts";
import { TraceLog, type Whereabouts } from "../../trace-log.ts";
import type { Command } from "../commands/command.ts";
import { commandOf } from "../commands/command-table.ts";
import { withBareCurrency } from "../commands/registration.ts";
import { addAskRoute, askRoutes, stateOf, togglesOf } from "../control.ts";
import { curesSomething, demandTable, mostUrgent } from "../demands.ts";
import { FaultyWire } from "../faults/faulty-wire.ts";
import { hasTrueLength } from "../link/apdu-reader.ts";
import type { Line, Transport, WireEvent } from "../link/line.ts";
import { SerialLine } from "../link/serial-line.ts";
import { TcpLine } from "../link/tcp-line.ts";
import { traceEntry } from "../trace.ts";
import type { Parts } from "./parts.ts";
import { Process } from "./process.ts";
import { unregistered } from "./registration.ts";

/** Error codes of 84 xx (docs/zvt.md 11.4). */
const UNKNOWN = 0x83;
const NOT_REGISTERED = 0x6b;
const MESSAGE_WRONG = 0x9a;
const PASSWORD_WRONG = 0x37;
const WAIT = 0x9c;

const NO_COMMUNICATION = 0x7d;

const REGISTRATION = 0x0600;
const STATUS_ENQUIRY = 0x0501;
const ABORT = 0x06b0;

/**
 * The simulated terminal (docs/zvt.md 13.1): takes commands from whichever register is connected,
 * runs one at a time, and gives its answers to the one that runs.
 */
export class Terminal implements Machine {
  readonly parts: Parts;
  readonly trace: TraceLog;
  readonly toggles: Machine["toggles"];
  readonly routes = askRoutes;
  #process: Process | undefined;
  /** The command that a register sent right behind the end of its last one. */
  #next: { line: Line; bytes: Uint8Array } | undefined;
  #onIdle: (() => void)[] = [];

  constructor(parts: Parts) {
    this.parts = parts;
    const { clock, traceEvents } = parts.options;
    this.trace = new TraceLog(clock, traceEvents, () => whereabouts(this.#process));
    this.toggles = togglesOf(parts);
    parts.onPhase = (line) => this.trace.phase(line);
    reverseUnfinished(parts);
  }

  state(): object {
    return stateOf(this);
  }

  get traits(): readonly LineTrait[] {
    return lineTraits(this.parts.options);
  }

  get condition(): Condition {
    if (this.#process) return "busy";
    return this.parts.registration.registered ? "ready" : "unregistered";
  }

  addRoutes(server: FastifyInstance): void {
    addAskRoute(server, this.parts);
  }

  connect(port: BytePort, transport: Transport): void {
    const { clock, timers } = this.parts.options;
    const running = (): number | undefined => this.#process?.control;
    const given = {
      clock,
      ...timers,
      interference: new FaultyWire(this.parts.faults, transport, running),
      zvtOff: () => this.parts.zvtOff,
      onWire: (event: WireEvent) => this.trace.add(port.name, traceEntry(event, running())),
    };
    this.attach(transport === "tcp" ? new TcpLine(port, given) : new SerialLine(port, given));
  }

  stop(why: string): void {
    this.#process?.kill(why);
  }

  /** The running command; undefined when the register is master. */
  get process(): Process | undefined {
    return this.#process;
  }

  attach(line: Line): void {
    line.start({
      apdu: (bytes) => this.#received(line, bytes),
      closed: () => {
        if (this.#process?.line === line) this.#process.lineClosed();
      },
    });
  }

  /** Power off and on: whatever ran is gone, registration too (docs/zvt.md 6.4, 10.4). */
  powerCycle(): void {
    this.#process?.kill("restart");
    this.parts.registration = unregistered;
    this.parts.readCard = undefined;
    this.parts.reader = null;
    reverseUnfinished(this.parts);
  }

  /** Resolves when no command runs. */
  idle(): Promise<void> {
    if (!this.#process) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  #received(line: Line, bytes: Uint8Array): void {
    if (this.parts.zvtOff) {
      line.refuseProtocol();
      return;
    }
    if (!hasTrueLength(bytes)) {
      // The transport has acknowledged, the application refuses (docs/zvt.md 2.4, 4.1).
      this.#refuse(line, MESSAGE_WRONG);
      return;
    }
    const apdu = decodeApdu(bytes);
    const process = this.#process;
    if (apdu.control >> 8 === 0x80 || apdu.control >> 8 === 0x84) {
      if (process?.line === line && process.waitsForAnswer) process.answered(apdu);
      // "Ask again" for a report that is no longer open (docs/zvt.md 8.3).
      else if (process?.line === line && apdu.control === 0x849c) this.#refuse(line, UNKNOWN);
      return;
    }
    if (!process && this.parts.busy) {
      this.#refuse(line, WAIT);
    } else if (!process) {
      this.#begin(line, bytes);
    } else if (process.line === line && process.ending) {
      this.#next = { line, bytes };
      process.unanswered();
    } else if (process.line === line && process.isRepeat(bytes)) {
      process.answerAgain();
    } else if (apdu.control === ABORT && process.line === line) {
      this.#abort(process);
    } else {
      this.#refuse(line, WAIT);
    }
  }

  #begin(line: Line, bytes: Uint8Array): void {
    const apdu = decodeApdu(bytes);
    const command = commandOf(apdu.control);
    const message = command && this.#readable(apdu);
    // docs/zvt.md 4.1: an unknown command, or a field whose number is not in the table.
    if (!command || typeof message?.unknownField === "number") {
      this.#refuse(line, UNKNOWN);
    } else if (!message) {
      this.#refuse(line, MESSAGE_WRONG);
    } else if (this.#hasAnotherMood(line, message)) {
      // Said, or deliberately not.
    } else if (this.#isWrong(message)) {
      this.#refuse(line, PASSWORD_WRONG);
    } else if (!command.whenLocked && this.#registerFirst) {
      this.#refuse(line, NOT_REGISTERED);
    } else {
      const process = new Process(this.parts, line, message, bytes);
      this.#process = process;
      void this.#run(command, process);
    }
  }

  /**
   * Answers that come out of nowhere, or do not come, on some terminals (docs/zvt.md 12.6, 12.7).
   */
  #hasAnotherMood(line: Line, { control }: Message): boolean {
    if (this.parts.silentOnce && control === STATUS_ENQUIRY) {
      this.parts.silentOnce = false;
      return true;
    }
    if (!this.parts.refusesOnce) return false;
    this.parts.refusesOnce = false;
    const refusal = encodeMessage("currency-refused", { parts: { resultCode: NO_COMMUNICATION } });
    void line.send(encodeApdu(refusal));
    return true;
  }

  /** Not fixed by the documents; refused at once as card complete does (docs/zvt.md 6.1). */
  #isWrong({ control, parts }: Message): boolean {
    const { device } = this.parts;
    const password = parts.password ?? parts.oldPassword;
    if (device.password === null || password === undefined) return false;
    // card complete compares five digits, and takes every registration (docs/zvt.md 12.2).
    const lax = this.parts.is("five-digit-password");
    if (lax && control === REGISTRATION) return false;
    const count = lax ? 5 : 6;
    return password.slice(0, count) !== device.password.slice(0, count);
  }

  get #registerFirst(): boolean {
    const { options, registration } = this.parts;
    return options.behaviour.registrationRequired && !registration.registered;
  }

  #readable(apdu: Apdu): Message | undefined {
    const bare = withBareCurrency(apdu);
    if (bare && this.parts.is("no-currency-field")) return undefined;
    try {
      return decodeMessage(bare ?? apdu, { charset: this.parts.registration.charset });
    } catch (error) {
      if (error instanceof ZvtCodecError) return undefined;
      throw error;
    }
  }

  async #run(command: Command, process: Process): Promise<void> {
    try {
      await runUnlessLocked(command, process);
    } catch (error) {
      if (!(error instanceof ProcessOver)) throw error;
    }
    await this.parts.endSilence();
    if (this.#process === process) {
      this.#process = undefined;
      this.parts.screen.rest();
    }
    for (const idle of this.#onIdle.splice(0)) idle();
    const next = this.#next;
    this.#next = undefined;
    if (next && !next.line.closed) this.#received(next.line, next.bytes);
  }

  /**
   * Abort while a command runs (docs/zvt.md 5.2, 6.6): only a request; the command's end decides.
   */
  #abort(process: Process): void {
    if (this.parts.is("ignores-abort") || process.fault("ignore-abort")) return;
    if (process.cancellable && process.fault("late-approval")) {
      this.#accept(process.line);
    } else if (process.cancellable && !process.fault("refuse-abort")) {
      this.#accept(process.line);
      process.cancel();
    } else {
      this.#refuse(process.line, UNKNOWN);
    }
  }

  #accept(line: Line): void {
    void line.send(encodeApdu(encodeMessage("positive-acknowledgement")));
  }

  #refuse(line: Line, errorCode: number): void {
    void line.send(encodeApdu(encodeMessage("negative-acknowledgement", { errorCode })));
  }
}

/** docs/zvt.md 5.3: a locked terminal accepts, and answers 06 1E to all but a few commands. */
async function runUnlessLocked(command: Command, process: Process): Promise<void> {
  const { memory, outOfOrder } = process.parts;
  const lock = curesSomething(memory, command.control) ? undefined : mostUrgent(memory);
  if (command.whenLocked || (lock === undefined && !outOfOrder)) {
    await command.run(process);
    return;
  }
  await process.accept();
  await process.abort(outOfOrder || !lock ? OUT_OF_ORDER : demandTable[lock].refusal);
}

const OUT_OF_ORDER = 0xdf;

function whereabouts(process: Process | undefined): Whereabouts {
  if (!process) return {};
  return { command: process.control.toString(16).padStart(4, "0"), phase: process.phase };
}

/**
 * After power came back: a charge that never became final is reversed (docs/zvt.md 9.1), unless the
 * terminal is of the newer kind that keeps it until the next transaction (docs/zvt.md 9.4).
 */
function reverseUnfinished({ ledger, memory, options }: Parts): void {
  if (!options.behaviour.autoReversal) return;
  for (const { id, kind, final, receiptNumber } of ledger.entries) {
    if (final || kind === "reversal" || kind === "release" || ledger.remaining(id) === 0) continue;
    ledger.takeBack(id, "restart", { trace: memory.takeTrace(), receiptNumber });
  }
}
