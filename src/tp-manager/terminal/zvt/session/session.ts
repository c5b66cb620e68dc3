import { BrokenInvariant, invariant } from "../../../../shared/invariant.ts";
import type { Logger } from "../../../../shared/process/logger.ts";
import type { Timer } from "../../../../shared/time.ts";
import {
  type Apdu,
  type Charset,
  charsetOfCode,
  type DecodeOptions,
  decodeMessage,
  encodeApdu,
  type Message,
  messageTitle,
  safeHex,
  shapeOf,
  tagValue,
  toHex,
  ZvtCodecError,
} from "../../../../zvt/index.ts";
import type { GoodsDecision } from "../../terminal.ts";
import type { Command } from "../commands/commands.ts";
import {
  type ApduLink,
  isAnswer,
  type LinkListener,
  type LinkOptions,
  type SendOutcome,
  TcpLink,
} from "../link/apdu-link.ts";
import { SerialLink } from "../link/serial-link.ts";
import { MessageIds, REGISTRATION } from "./message-ids.ts";
import { initialState, step } from "./session-machine.ts";
import type {
  AbortAnswer,
  ExchangeEnd,
  Sending,
  SessionInput,
  SessionOutput,
  SessionState,
  SessionTimer,
  Verdict,
} from "./session-state.ts";

/** An interface, because a session does not know which command is a payment. */
export interface ExchangeListener {
  /** Called just before the command is sent; after false it is not sent. */
  begins?(): boolean;
  message?(message: Message): void;
  /** Stores a report of a financial command, and returns how the report is to be answered. */
  judge?(message: Message): Verdict;
  ackArrived?(): void;
  /** Called when a message that was or may have been a 04 0F was refused without a verdict. */
  unjudged?(): void;
}

/** An interface, because a session does not know the connection that opens it. */
interface SessionListener {
  /** Called when a 04 0F outside of a sale has been refused on the wire. */
  unmatched(message: Message): void;
  note(text: string): void;
  /** Called when a late answer could pass for another command's: the session must be closed. */
  outOfSync(problem: string): void;
  /** Called last, once, when the link has ended; `problem` is null after {@link Session.close}. */
  down(problem: string | null): void;
}

export type RunCommand = (command: Command, listener?: ExchangeListener) => Promise<ExchangeEnd>;

interface SessionOptions extends LinkOptions {
  /** Returns the character set of the terminal's texts; a registration may change it. */
  readonly charset: () => Charset;
  readonly log: Logger;
}

/** The most answers that wait for the link; only a terminal that never sends ACK causes more. */
const ANSWERS_WAITING_MAX = 4;

interface Exchange {
  readonly listener: ExchangeListener;
  readonly end: PromiseWithResolvers<ExchangeEnd>;
}

/** Connects the session machine with a link: performs its outputs, and feeds it all events. */
export class Session implements LinkListener {
  heardAtMs: number;
  /** The limit T4 of the last command; the terminal can change it (docs/zvt.md 5.1). */
  t4Ms: number;
  readonly #options: SessionOptions;
  readonly #listener: SessionListener;
  readonly #ids = new MessageIds();
  readonly #link: ApduLink;
  #state: SessionState = initialState;
  readonly #inputs: SessionInput[] = [];
  #stepping = false;
  #sending: Sending | null = null;
  readonly #answers: Apdu[] = [];
  readonly #timers = new Map<SessionTimer, Timer>();
  #exchange: Exchange | undefined;
  #aborting: PromiseWithResolvers<AbortAnswer> | undefined;
  readonly #waitingForFree = new Set<() => void>();

  constructor(options: SessionOptions, listener: SessionListener) {
    this.#options = options;
    this.#listener = listener;
    const Link = options.transport.kind === "serial" ? SerialLink : TcpLink;
    this.#link = new Link(options, this);
    this.heardAtMs = options.clock.monotonicMs();
    this.t4Ms = options.timers.t4Ms;
  }

  /** Opens the link; rejects as {@link ApduLink.open} does. */
  async open(signal: AbortSignal): Promise<this> {
    await this.#link.open(signal);
    return this;
  }

  get isFree(): boolean {
    return this.#state.at === "idle" && this.#sending === null;
  }

  whenFree(): Promise<void> {
    if (this.isFree) return Promise.resolve();
    return new Promise((resolve) => this.#waitingForFree.add(resolve));
  }

  /** Runs one command to its end, only on a free session. Never rejects. */
  run(command: Command, listener: ExchangeListener = {}): Promise<ExchangeEnd> {
    invariant(this.isFree && !this.#exchange, "a command starts only on a free session");
    if (listener.begins?.() === false) {
      return Promise.resolve({ end: "not-sent", problem: "the command was withdrawn" });
    }
    const exchange = { listener, end: Promise.withResolvers<ExchangeEnd>() };
    this.#exchange = exchange;
    this.#feed({ input: "command", command });
    return exchange.end.promise;
  }

  /** Asks the terminal to abort the running command (docs/zvt.md 6.6). */
  abort(): Promise<AbortAnswer> {
    this.#aborting ??= Promise.withResolvers<AbortAnswer>();
    const { promise } = this.#aborting;
    this.#feed({ input: "abort" });
    return promise;
  }

  get awaitsGoods(): boolean {
    return this.#state.at === "served" && this.#state.goods?.decision === null;
  }

  /** Answers the report, at the latest when it is repeated, with the decision (docs/zvt.md 8.1). */
  decideGoods(decision: GoodsDecision): void {
    this.#feed({ input: "goods", decision });
  }

  async close(): Promise<void> {
    await this.#link.close();
  }

  apdu(apdu: Apdu): void {
    this.heardAtMs = this.#options.clock.monotonicMs();
    const charset = this.#options.charset();
    const { message, problem } = readMessage(apdu, { ...this.#answering(), charset });
    this.#logFrame("from terminal", apdu);
    if (this.#heardBefore(apdu, message)) return;
    const registers = message.name === "completion" && this.#answering().answering === REGISTRATION;
    this.#feed({ input: "message", message, problem });
    if (registers) this.#ids.registered(message);
  }

  /** Returns whether a message is a repeat or a late answer, by its id (docs/zvt.md 9.4). */
  #heardBefore(apdu: Apdu, message: Message): boolean {
    const id = this.#ids.of(message);
    if (id === null) return false;
    if (isAnswer(apdu)) {
      if (!this.#ids.isLate(id)) return false;
      this.#listener.note(`the terminal answered message ${id} too late: ${message.name}`);
      return true;
    }
    const bytes = toHex(encodeApdu(apdu));
    const before = this.#ids.repeated(id, bytes);
    // After 84 9C the terminal repeats its 04 0F and wants another answer (docs/zvt.md 8.3).
    const goods = this.#state.at === "served" && this.#state.goods !== null;
    if (!before || (goods && message.name === "status-information")) {
      this.#ids.heard(id, bytes);
      return false;
    }
    this.#listener.note(`the terminal sent message ${id} again: ${message.name}`);
    if (before.answer) this.#transmit("answer", before.answer);
    return true;
  }

  malformed(): void {
    this.heardAtMs = this.#options.clock.monotonicMs();
    this.#feed({ input: "malformed" });
  }

  noise(bytes: number): void {
    this.#options.log.debug({ bytes }, "bytes outside of any frame came on the line");
  }

  down(problem: string | null): void {
    this.#answers.length = 0;
    this.#feed({ input: "down", problem: problem ?? "the link was closed" });
    this.#listener.down(problem);
  }

  #answering(): { answering?: number } {
    const { at } = this.#state;
    if (at !== "requested" && at !== "served") return {};
    return { answering: this.#state.command.apdu.control };
  }

  #feed(input: SessionInput): void {
    this.#inputs.push(input);
    if (this.#stepping) return;
    this.#stepping = true;
    try {
      for (let next = this.#inputs.shift(); next; next = this.#inputs.shift()) this.#step(next);
    } finally {
      this.#stepping = false;
    }
    if (!this.isFree) return;
    for (const resolve of this.#waitingForFree) resolve();
    this.#waitingForFree.clear();
  }

  #step(input: SessionInput): void {
    const context = { timers: this.#options.timers, linkFree: this.#sending === null };
    const { state, outputs } = step(this.#state, input, context);
    this.#state = state;
    if (state.at === "served") this.t4Ms = state.t4Ms;
    for (const output of outputs) this.#perform(output);
  }

  #perform(output: SessionOutput): void {
    switch (output.output) {
      case "send": {
        const { what, apdu, answers = null } = output;
        const isOwn = what !== "answer";
        this.#transmit(what, isOwn ? this.#ids.numbered(apdu) : this.#ids.answering(apdu, answers));
        return;
      }
      case "start-timer":
        this.#startTimer(output.timer, output.ms);
        return;
      case "stop-timer":
        this.#stopTimer(output.timer);
        return;
      case "deliver":
        this.#exchange?.listener.message?.(output.message);
        return;
      case "judge":
        this.#judge(output.message);
        return;
      case "ack-arrived":
        this.#exchange?.listener.ackArrived?.();
        return;
      case "unjudged":
        this.#exchange?.listener.unjudged?.();
        return;
      case "out-of-sync":
        this.#listener.outOfSync(output.problem);
        return;
      case "end": {
        const exchange = this.#exchange;
        this.#exchange = undefined;
        exchange?.end.resolve(output.end);
        return;
      }
      case "abort-answer":
        this.#aborting?.resolve(output.answer);
        this.#aborting = undefined;
        return;
      case "unmatched":
        this.#listener.unmatched(output.message);
        return;
      case "note":
        this.#listener.note(output.text);
        return;
    }
  }

  #transmit(what: Sending, apdu: Apdu): void {
    if (what === "answer" && this.#sending === "answer") {
      // An answer waits until the previous one has its ACK (docs/zvt.md 2.4).
      if (this.#answers.length < ANSWERS_WAITING_MAX) this.#answers.push(apdu);
      return;
    }
    this.#logFrame("to terminal", apdu);
    this.#sending = what;
    this.#link.send(apdu, (outcome) => this.#sent(what, outcome));
  }

  #sent(what: Sending, outcome: SendOutcome): void {
    // After a collision the link sends our answer, which went out instead of the command.
    if (outcome.outcome !== "collided") this.#sending = null;
    const next = this.#sending === null ? this.#answers.shift() : undefined;
    if (next) this.#transmit("answer", next);
    this.#feed({ input: "sent", what, outcome });
  }

  #judge(message: Message): void {
    let verdict: Verdict = "refuse";
    try {
      verdict = this.#exchange?.listener.judge?.(message) ?? "refuse";
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      this.#options.log.error({ err: error }, "a report was refused, as it could not be stored");
    }
    // The verdict is the next input, before all that arrived meanwhile.
    this.#inputs.unshift({ input: "verdict", verdict, message });
  }

  #startTimer(name: SessionTimer, ms: number): void {
    this.#stopTimer(name);
    const fire = (): void => this.#feed({ input: "timeout", timer: name });
    this.#timers.set(name, this.#options.clock.startTimer(`zvt ${name}`, ms, fire));
  }

  #stopTimer(name: SessionTimer): void {
    this.#timers.get(name)?.clear();
    this.#timers.delete(name);
  }

  /** Logs a frame without card data (docs/design.md 6.2); its text is built only if logged. */
  #logFrame(direction: string, apdu: Apdu): void {
    const context = this.#answering();
    const toJSON = () => ({ message: messageTitle(apdu, context), hex: safeHex(apdu, context) });
    this.#options.log.debug({ frame: { toJSON } }, direction);
  }
}

/** Reads a message; `problem`: why only its control field could be read, else null. */
function readMessage(apdu: Apdu, options: DecodeOptions) {
  try {
    const message = decodeMessage(apdu, options);
    // A print block may name its own character set (docs/zvt.md 11.7).
    const code = tagValue(message.tags, "charset");
    const charset = code === undefined ? undefined : charsetOfCode(code);
    if (!charset || charset === options.charset) return { message, problem: null };
    return { message: decodeMessage(apdu, { ...options, charset }), problem: null };
  } catch (error) {
    if (!(error instanceof ZvtCodecError)) throw error;
    const name = shapeOf(apdu.control, options.answering)?.name ?? "unknown";
    const nothing = { parts: {}, fields: {}, tags: null, unknownField: null };
    const message: Message = { name, control: apdu.control, ...nothing };
    return { message, problem: error.message };
  }
}
