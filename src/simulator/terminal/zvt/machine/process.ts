import {
  type Apdu,
  type Charset,
  container,
  decodeMessage,
  encodeApdu,
  errorCodeOf,
  fromHex,
  type Message,
  type MessageName,
  sameBytes,
  tag,
  tagValue,
  ZvtCodecError,
} from "../../../../zvt/index.ts";
import type { FaultArguments } from "../../faults/fault-kinds.ts";
import { RunningCommand } from "../../machine.ts";
import { ProcessOver } from "../../terminal-parts.ts";
import type { FaultName, Point } from "../faults.ts";
import type { Line } from "../link/lines.ts";
import { has, type Outgoing, type Parts } from "./parts.ts";
import { stageOfStatus, statusText } from "./texts.ts";

/** How the terminal carries out one command of the register. */
export interface Command {
  readonly control: number;
  /**
   * Carried out in a locked terminal too: the list of docs/zvt.md 5.3, and the commands that have
   * no completion to refuse with. These commands need no registration either.
   */
  readonly whenLocked: boolean;
  run(process: Process): Promise<void>;
}

export function command(control: number, run: Command["run"]): Command {
  return { control, run, whenLocked: false };
}

export function commandWhenLocked(control: number, run: Command["run"]): Command {
  return { control, run, whenLocked: true };
}

/** The register's answer to a message of ours. */
export type Answer =
  | { readonly kind: "positive"; readonly apdu: Apdu }
  | { readonly kind: "negative"; readonly code: number; readonly apdu: Apdu }
  | { readonly kind: "silent"; readonly because: Silence };

type Silence =
  /** T3 is over, or the time that a sale with goods has. */
  | "time-out"
  /** Every repeat stayed without ACK. */
  | "not-delivered"
  | "line-closed";

/** How a message of ours is asked about. */
interface Asking {
  /** How long the answer is waited for; missing: T3. */
  readonly timeoutMs?: number | undefined;
  /** The moment that is reached when the message has left. */
  readonly sent?: Point;
  /** The number of the message (docs/zvt.md 9.4). */
  readonly id?: string | undefined;
}

const STATUS_ENQUIRY = 0x0501;
/** The last ACK leaves within this time, before a restart takes the lines away. */
const LAST_ACK_MS = 100;
/** A frame leaves at most so often (docs/zvt.md 2.4). */
const SENDS_MAX = 3;

/**
 * One command of the register from its arrival to its end. While it runs the terminal is master:
 * {@link Process.say} sends a message and waits for the answer (docs/zvt.md 1.3, 5.2).
 */
export class Process extends RunningCommand<Parts, Point> {
  override readonly control: number;
  readonly request: Message;
  readonly line: Line;
  /** Whether Abort (06 B0) is accepted now. */
  cancellable = false;
  /** A closed line cancels too; a payment goes on, because it is of use without the register. */
  endsWithLine = false;
  /** Whether the last message has left: then the register is master again. */
  ending = false;
  #cancel: (() => void) | undefined;
  /** The message that waits for its answer, with its id (docs/zvt.md 9.4). */
  #asked: { readonly id: string | undefined; settle(answer: Answer): void } | undefined;
  #exchange: Promise<unknown> = Promise.resolve();
  readonly #requestBytes: Uint8Array;
  readonly #startedMs: number;
  #lastAnswer: Uint8Array | undefined;

  constructor(parts: Parts, line: Line, request: Message, requestBytes: Uint8Array) {
    const label = request.control.toString(16).padStart(4, "0");
    super(parts, "command", { line: line.name, label });
    this.line = line;
    this.request = request;
    this.control = request.control;
    this.#requestBytes = requestBytes;
    this.#startedMs = parts.clock.monotonicMs();
  }

  get waitsForAnswer(): boolean {
    return this.#asked !== undefined;
  }

  override kill(why: string): void {
    super.kill(why);
    this.#settle({ kind: "silent", because: "line-closed" });
  }

  /** Cancels the wait for customer or key, as the register has asked. */
  cancel(): void {
    this.#cancel?.();
  }

  answered(apdu: Apdu): void {
    // An answer with another id is one to an earlier message.
    const asked = this.#asked?.id;
    const id = asked && tagValue(readable(apdu)?.tags ?? null, "messageSequence");
    if (id !== undefined && id !== asked) return;
    const code = errorCodeOf(apdu.control);
    this.#settle(
      code === undefined ? { kind: "positive", apdu } : { kind: "negative", code, apdu },
    );
  }

  /** Ends the wait for an answer: the line is gone, or the register sent its next command. */
  unanswered(): void {
    this.#settle({ kind: "silent", because: "line-closed" });
  }

  /** Ends what is of no use without a line to the register. */
  lineClosed(): void {
    this.unanswered();
    if (this.endsWithLine) this.cancel();
  }

  /** Gives the first answer to what waits for it; later ones are dropped. */
  #settle(answer: Answer): void {
    const asked = this.#asked;
    this.#asked = undefined;
    asked?.settle(answer);
  }

  /**
   * Sends the same answer again if a register repeats the command within the time of its repeats,
   * because it missed our ACK and does not take our answer for it (docs/zvt.md 2.4).
   */
  answersRepeat(bytes: Uint8Array): boolean {
    const sinceMs = this.parts.clock.monotonicMs() - this.#startedMs;
    const isRepeat =
      this.line.transport === "serial" &&
      sinceMs <= SENDS_MAX * this.parts.options.timers.t2Ms &&
      sameBytes(bytes, this.#requestBytes);
    if (isRepeat && this.#lastAnswer) void this.line.send(this.#lastAnswer);
    return isRepeat;
  }

  /** Answers the command with 80 00, unless a fault refuses it. */
  async accept(): Promise<void> {
    await this.#prepareAnswer();
    await this.#answer("positive-acknowledgement", {});
    await this.reach("accepted");
  }

  /** Answers with 80 00 a command that ends with its answer (docs/zvt.md 5.2). */
  async finish(): Promise<void> {
    await this.answerWith("positive-acknowledgement", {});
  }

  /** Answers the command with 84 xx: nothing follows. */
  async refuse(code: number): Promise<undefined> {
    await this.answerWith("negative-acknowledgement", { errorCode: code });
  }

  /** Answers the command, which ends with that. */
  async answerWith(name: MessageName, input: Outgoing): Promise<void> {
    await this.#prepareAnswer();
    this.ending = true;
    await this.#answer(name, input);
  }

  async #prepareAnswer(): Promise<void> {
    await this.reach("command");
    const refused = this.fault("refuse");
    if (!refused) return;
    const errorCode = Number.parseInt(String(refused["code"]), 16);
    await this.#answer("negative-acknowledgement", { errorCode });
    throw new ProcessOver("refused by a fault");
  }

  async #answer(name: MessageName, input: Outgoing): Promise<void> {
    // An answer repeats the id of the message that it answers (docs/zvt.md 9.4).
    const answer = this.parts.encode(name, input, this.parts.requestId(this.request));
    this.#lastAnswer = answer;
    const sent = await this.line.send(answer);
    // Three sends without an ACK end the command (docs/zvt.md 2.4). It goes on when the line is
    // gone, and when a fault keeps the terminal silent.
    if (sent === "failed" && !this.line.closed && !this.parts.faults.muted) {
      throw new ProcessOver("the answer to the command was not acknowledged");
    }
  }

  /** Sends a message and waits for its answer (docs/zvt.md 5.1). */
  async say(name: MessageName, input: Outgoing, asking: Asking = {}): Promise<Answer> {
    const id = this.parts.nextMessageId();
    return await this.sayRaw(this.parts.encode(name, this.#permitted(input), id), {
      ...asking,
      id,
    });
  }

  /** Sends a message that has a control field only. */
  async sayBare(control: number): Promise<Answer> {
    const id = this.parts.nextMessageId();
    const data = id === undefined ? new Uint8Array(0) : fromHex(`06061f7303${id}`);
    return await this.sayRaw(encodeApdu({ control, data }), { id });
  }

  async sayRaw(apdu: Uint8Array, asking: Asking = {}): Promise<Answer> {
    // Messages wait for each other: the answer to a prompt that a cancellation left open would be
    // taken for the answer to this message.
    const before = this.#exchange;
    const exchange = before.then(() => this.#ask(apdu, asking));
    this.#exchange = exchange.catch(() => undefined);
    return await exchange;
  }

  async #ask(apdu: Uint8Array, { timeoutMs, sent, id }: Asking): Promise<Answer> {
    this.signal.throwIfAborted();
    // The answer is waited for before the write, and the clock starts after it.
    const { promise: answer, resolve: settle } = Promise.withResolvers<Answer>();
    this.#asked = { id, settle };
    const how = await this.line.send(apdu);
    if (sent) await this.reach(sent);
    if (how === "failed") {
      const because = this.line.closed ? "line-closed" : "not-delivered";
      this.#settle({ kind: "silent", because });
    }
    const limitMs = timeoutMs ?? this.parts.options.timers.t3Ms;
    const timer = this.parts.clock.startTimer("T3", limitMs, () => {
      this.#settle({ kind: "silent", because: "time-out" });
      // docs/zvt.md 3.3: T3 over ends the connection; a window for goods being over does not.
      if (timeoutMs === undefined && this.line.transport === "tcp") this.line.close();
    });
    const given = await answer;
    timer.clear();
    this.signal.throwIfAborted();
    return given;
  }

  /** Sends 04 FF if the register wants it (configuration bit 08, docs/zvt.md 6.1). */
  async status(code: number): Promise<void> {
    this.#show(code);
    if (!has(this.parts.registration, "intermediateStatus")) return;
    const answer = await this.say("intermediate-status", this.#statusInput(code));
    const lost = answer.kind === "silent" && answer.because !== "line-closed";
    // The command counts as aborted (docs/zvt.md 3.3, 5.1). It goes on when the register has
    // closed the line: the customer at the terminal does not know that.
    if (lost && this.cancellable) throw new ProcessOver("a status was not answered");
  }

  /** Returns 04 FF: status, T4 in minutes, and a text for the display (docs/zvt.md 7.2). */
  #statusInput(code: number): Outgoing {
    const { parts } = this;
    const minutes = parts.is("t4-byte-zero") ? 0 : parts.options.timers.t4Ms / 60_000;
    const text = parts.is("no-texts") ? "" : statusText(code, parts.language);
    const omitted = parts.is("no-t4-byte") || (text && this.fault("no-timeout-byte"));
    const namesT4 = Number.isInteger(minutes) && minutes <= 99 && !omitted;
    const line = tag("textLine", text, this.textCharset());
    return {
      parts: { status: code, ...(namesT4 ? { timeoutMinutes: minutes } : {}) },
      ...(text ? { tags: [container("displayTexts", [line])] } : {}),
    };
  }

  /** Returns the agreed character set, or that of a fault, which is used up. */
  textCharset(): Charset {
    const agreed = this.parts.is("latin1") ? "iso8859-1" : this.parts.registration.charset;
    return (this.fault("charset")?.["set"] as Charset) ?? agreed;
  }

  /** Shows a status on the terminal's own display. */
  #show(code: number): void {
    const stage = stageOfStatus[code];
    const { amount, currency } = this.request.fields;
    const used = currency ?? (this.parts.options.behaviour.currencies[0] as string);
    const paid = amount === undefined ? undefined : { amountMinor: amount, currency: used };
    if (stage) this.parts.screen.show(stage, paid);
  }

  /** Sends the report 04 0F. */
  async report(input: Outgoing, timeoutMs?: number): Promise<Answer> {
    await this.reach("report");
    const answer = await this.say("status-information", input, { timeoutMs, sent: "reported" });
    if (answer.kind !== "silent") await this.reach("acknowledged");
    return answer;
  }

  /** Ends the command with a report: Read Card has no 06 0F (docs/zvt.md 5.2, 6.7). */
  async completeWithReport(input: Outgoing): Promise<void> {
    await this.reach("report");
    this.ending = true;
    await this.say("status-information", input, { sent: "reported" });
  }

  /** Restarts the terminal, after the last ACK has left. */
  async restart(): Promise<void> {
    await this.pause("last ACK before the restart", LAST_ACK_MS);
    this.parts.host.reboot();
  }

  /** Ends the command with 06 0F. */
  async complete(input: Outgoing = {}, name: MessageName = "completion"): Promise<void> {
    await this.reach("completion");
    this.ending = true;
    await this.say(name, input, { sent: "completed" });
  }

  /** Ends the command with 06 1E. */
  async abort(resultCode: number, input: Outgoing = {}): Promise<undefined> {
    const parts = this.fault("abort-without-code") ? {} : { ...input.parts, resultCode };
    await this.complete({ ...input, parts }, "abort-from-pt");
  }

  /** Returns the message without tags if the register knows no containers (docs/zvt.md 4.3). */
  #permitted(input: Outgoing): Outgoing {
    if (input.tags === undefined || this.mayContain) return input;
    const { tags: _, ...rest } = input;
    return rest;
  }

  get mayContain(): boolean {
    const always = this.parts.is("container-unasked");
    if (always || this.parts.registration.containers || this.request.tags !== null) return true;
    // Service byte 04 of the status enquiry asks for the container by itself (docs/zvt.md 6.5).
    return this.control === STATUS_ENQUIRY && ((this.request.fields.serviceByte ?? 0) & 0x04) !== 0;
  }

  /** Returns the arguments of the armed fault of this name, and uses it; undefined: none. */
  fault(name: FaultName): FaultArguments | undefined {
    return this.parts.faults.take(name, { command: this.control });
  }

  /** Resolves with the result of `work`, or as soon as the register cancels. */
  async untilCancelled<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | "cancelled"> {
    const stop = new AbortController();
    const cancelled = new Promise<"cancelled">((resolve) => {
      this.#cancel = () => resolve("cancelled");
    });
    this.cancellable = true;
    try {
      return await Promise.race([work(AbortSignal.any([stop.signal, this.signal])), cancelled]);
    } finally {
      this.cancellable = false;
      this.#cancel = undefined;
      stop.abort(new ProcessOver("cancelled"));
    }
  }
}

/** Returns the message of an APDU; undefined: it cannot be read. */
export function readable(
  apdu: Apdu,
  context?: Parameters<typeof decodeMessage>[1],
): Message | undefined {
  try {
    return decodeMessage(apdu, context);
  } catch (error) {
    if (error instanceof ZvtCodecError) return undefined;
    throw error;
  }
}
