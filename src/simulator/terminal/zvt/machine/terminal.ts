import type { FastifyInstance } from "fastify";
import { z } from "zod";
import {
  type Apdu,
  decodeApdu,
  encodeApdu,
  encodeMessage,
  type Message,
  messageTitle,
  safeHex,
} from "../../../../zvt/index.ts";
import { type Condition, Machine } from "../../machine.ts";
import type { BytePort, Transport } from "../../port/ports.ts";
import texts from "../../texts.json" with { type: "json" };
import type { TraceEntry } from "../../trace-log.ts";
import { administrationCommands } from "../commands/administration.ts";
import { displayCommands } from "../commands/display.ts";
import { fileCommands } from "../commands/files.ts";
import { paymentCommands } from "../commands/payments.ts";
import { registrationCommands, withBareCurrency } from "../commands/registration.ts";
import { storedCommands } from "../commands/stored.ts";
import { curesSomething, demandTable, mostUrgent } from "../demands.ts";
import { hasTrueLength, type Line, SerialLine, TcpLine } from "../link/lines.ts";
import { type AskKind, askNames } from "../options.ts";
import { type Parts, unregistered } from "./parts.ts";
import { type Command, Process, readable } from "./process.ts";
import { code } from "./sale.ts";
import { statusText } from "./texts.ts";

const NO_COMMUNICATION = 0x7d;

const REGISTRATION = 0x0600;
const STATUS_ENQUIRY = 0x0501;
const ABORT = 0x06b0;

/** Every command that the terminal knows; it refuses others with 84 83 00 (docs/zvt.md 4.1). */
const commands = new Map(
  [
    ...administrationCommands,
    ...paymentCommands,
    ...displayCommands,
    ...fileCommands,
    ...registrationCommands,
    ...storedCommands,
  ].map((command) => [command.control, command]),
);

/** The simulated ZVT terminal (docs/zvt.md 13.1), which runs one command at a time. */
export class Terminal extends Machine<Parts, Process> {
  override readonly toggles = togglesOf(this.parts);
  readonly routes = texts.protocolRoutes.zvt;
  /** The register's next command, which came instead of the answer to the last message. */
  #next: { line: Line; bytes: Uint8Array } | undefined;

  constructor(parts: Parts) {
    super(parts);
    reverseUnfinished(parts);
  }

  state(): object {
    const { parts } = this;
    const { registration } = parts;
    return {
      registration: {
        ...registration,
        configByte: registration.configByte.toString(16).padStart(2, "0"),
        permitted: [...registration.permitted].map((control) => control.toString(16)),
      },
      running: this.running?.whereabouts ?? null,
      language: parts.language,
      displayed: parts.displayed,
      terminalId: parts.device.terminalId,
      card: parts.readCard ?? null,
      reader: parts.reader,
      files: Object.fromEntries([...parts.files].map(([id, { length }]) => [id, length])),
      asked: parts.asked,
    };
  }

  get condition(): Condition {
    if (this.running) return "busy";
    return this.parts.registration.registered ? "ready" : "unregistered";
  }

  addRoutes(server: FastifyInstance): void {
    const ask = z.strictObject({
      kind: z.enum(askNames as [AskKind, ...AskKind[]]),
      in: z.enum(["payment", "status"]).default("payment"),
    });
    server.post("/ask", (request) => {
      const { kind, in: occasion } = ask.parse(request.body);
      this.parts.asksOnce.push({ kind, occasion });
      return { kind, in: occasion };
    });
  }

  connect(port: BytePort, transport: Transport): void {
    const options = {
      ...this.lineOptions(port, transport),
      ...this.parts.options.timers,
      running: () => this.running?.control,
      zvtOff: () => this.parts.zvtOff,
    };
    const line = transport === "tcp" ? new TcpLine(port, options) : new SerialLine(port, options);
    line.start({
      apdu: (bytes) => this.#received(line, bytes),
      closed: () => {
        if (this.running?.line === line) this.running.lineClosed();
      },
    });
  }

  protected override read(apdu: Uint8Array): Partial<TraceEntry> {
    return described(apdu, this.running?.control);
  }

  /** Restarts the terminal, which forgets command and registration (docs/zvt.md 6.4, 10.4). */
  override powerCycle(): void {
    super.powerCycle();
    this.parts.registration = unregistered;
    this.parts.readCard = undefined;
    this.parts.reader = null;
    reverseUnfinished(this.parts);
  }

  #received(line: Line, bytes: Uint8Array): void {
    if (this.parts.zvtOff) {
      line.refuseProtocol();
      return;
    }
    if (!hasTrueLength(bytes)) {
      // A message of wrong length already has its ACK; now it is refused (docs/zvt.md 2.4, 4.1).
      this.#refuse(line, code.messageWrong);
      return;
    }
    const apdu = decodeApdu(bytes);
    const process = this.running;
    if (apdu.control >> 8 === 0x80 || apdu.control >> 8 === 0x84) {
      const isLate = process?.line === line && !process.answered(apdu);
      // The register asks for a report again, but too late for an answer (docs/zvt.md 8.3).
      if (isLate && apdu.control === 0x849c) this.#refuse(line, code.notPossible);
      return;
    }
    if (!process && this.parts.busy) {
      this.#refuse(line, code.askAgain);
    } else if (!process) {
      this.#begin(line, bytes);
    } else if (process.line === line && process.ending) {
      this.#next = { line, bytes };
      process.unanswered();
    } else if (process.line === line && process.answersRepeat(bytes)) {
      // `answersRepeat` has already sent the answer to the repeated command again.
    } else if (apdu.control === ABORT && process.line === line) {
      this.#abort(process);
    } else {
      this.#refuse(line, code.askAgain);
    }
  }

  #begin(line: Line, bytes: Uint8Array): void {
    const apdu = decodeApdu(bytes);
    const command = commands.get(apdu.control);
    const { options, registration } = this.parts;
    const { registrationRequired } = options.behaviour;
    const bare = withBareCurrency(apdu);
    const isRefused = !command || (bare && this.parts.is("no-currency-field"));
    const message = isRefused
      ? undefined
      : readable(bare ?? apdu, { charset: registration.charset });
    // The terminal does not know this command, or a field's number in it (docs/zvt.md 4.1).
    if (!command || typeof message?.unknownField === "number") {
      this.#refuse(line, code.notPossible);
    } else if (!message) {
      this.#refuse(line, code.messageWrong);
    } else if (this.#hasAnotherMood(line, message)) {
      // `#hasAnotherMood` has refused the command, or the terminal ignores it.
    } else if (this.#isWrong(message)) {
      this.#refuse(line, code.wrongPin);
    } else if (!command.whenLocked && registrationRequired && !registration.registered) {
      this.#refuse(line, code.notRegistered);
    } else {
      void this.#begun(command, new Process(this.parts, line, message, bytes));
    }
  }

  /** Whether a deviation from ZVT refuses or ignores the command (docs/zvt.md 12.6, 12.7). */
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

  /** Whether the command's password is wrong (docs/zvt.md 6.1). */
  #isWrong({ control, parts }: Message): boolean {
    const { device } = this.parts;
    const password = parts.password ?? parts.oldPassword;
    if (device.password === null || password === undefined) return false;
    // Terminals of card complete compare five digits; registration needs none (docs/zvt.md 12.2).
    const lax = this.parts.is("five-digit-password");
    if (lax && control === REGISTRATION) return false;
    const count = lax ? 5 : 6;
    return password.slice(0, count) !== device.password.slice(0, count);
  }

  async #begun(command: Command, process: Process): Promise<void> {
    await this.run(process, () => runUnlessLocked(command, process));
    const next = this.#next;
    this.#next = undefined;
    if (next && !next.line.closed) this.#received(next.line, next.bytes);
  }

  /** Answers an Abort that comes while another command runs (docs/zvt.md 5.2, 6.6). */
  #abort(process: Process): void {
    if (this.parts.is("ignores-abort") || process.fault("ignore-abort")) return;
    const isLate = process.cancel && process.fault("late-approval");
    if (!isLate && (!process.cancel || process.fault("refuse-abort"))) {
      this.#refuse(process.line, code.notPossible);
      return;
    }
    void process.line.send(encodeApdu(encodeMessage("positive-acknowledgement")));
    if (!isLate) process.cancel?.();
  }

  #refuse(line: Line, errorCode: number): void {
    void line.send(encodeApdu(encodeMessage("negative-acknowledgement", { errorCode })));
  }
}

/** Runs the command; a locked terminal refuses most commands with an abort (docs/zvt.md 5.3). */
async function runUnlessLocked(command: Command, process: Process): Promise<void> {
  const { memory, outOfOrder } = process.parts;
  const lock = curesSomething(memory, command.control) ? undefined : mostUrgent(memory);
  if (command.whenLocked || (lock === undefined && !outOfOrder)) {
    return await command.run(process);
  }
  await process.accept();
  await process.abort(outOfOrder || !lock ? OUT_OF_ORDER : demandTable[lock].status);
}

const OUT_OF_ORDER = 0xdf;

/** Reverses charges that never became final, unless the terminal keeps them (docs/zvt.md 9.1). */
function reverseUnfinished({ ledger, memory, options }: Parts): void {
  if (!options.behaviour.autoReversal) return;
  for (const { id, kind, final, receiptNumber } of ledger.entries) {
    if (final || kind === "reversal" || kind === "release" || ledger.remaining(id) === 0) continue;
    ledger.takeBack(id, "restart", { trace: memory.takeTrace(), receiptNumber });
  }
}

function togglesOf(parts: Parts): Machine["toggles"] {
  return {
    get zvtOff() {
      return parts.zvtOff;
    },
    set zvtOff(off) {
      parts.zvtOff = off;
    },
    get unregistered() {
      return !parts.registration.registered;
    },
    set unregistered(forgets) {
      if (forgets) parts.registration = unregistered;
    },
  };
}

/** Returns a message's trace entry; `answering`: the command that it answers (docs/zvt.md 6.5). */
function described(bytes: Uint8Array, answering: number | undefined): Partial<TraceEntry> {
  if (!hasTrueLength(bytes)) {
    return { message: "a message with a wrong length", note: `${bytes.length} bytes` };
  }
  const apdu = decodeApdu(bytes);
  const context = answering === undefined ? {} : { answering };
  const says = decoded(apdu, context);
  return {
    hex: safeHex(apdu, context),
    message: messageTitle(apdu, context),
    ...(says === "" ? {} : { says }),
  };
}

/** Returns the facts of a message in one line, without card data. */
function decoded(apdu: Apdu, context: { readonly answering?: number }): string {
  const message = readable(apdu, context);
  if (!message) return "";
  const { fields, parts } = message;
  const resultCode = fields.resultCode ?? parts.resultCode;
  const status = parts.status === undefined ? "" : statusText(parts.status, "en");
  const facts = {
    amount: fields.amount === undefined ? undefined : `${fields.amount} minor units`,
    currency: fields.currency,
    result: resultCode?.toString(16).padStart(2, "0"),
    receipt: fields.receiptNumber,
    trace: fields.trace,
    status: status === "" ? parts.status : status,
  };
  return Object.entries(facts)
    .flatMap(([name, fact]) => (fact === undefined ? [] : [`${name} ${fact}`]))
    .join(", ");
}
