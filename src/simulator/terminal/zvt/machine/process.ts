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
import { type Line, SENDS_MAX } from "../link/lines.ts";
import { has, type Outgoing, type Parts } from "./parts.ts";
import { stageOfStatus, statusText } from "./texts.ts";

export interface Command {
  readonly control: number;
  /**
   * Whether a locked or unregistered terminal runs the command (docs/zvt.md 5.3). It runs every
   * command that has no completion, because it could not refuse such a command.
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

/** The register's answer to a message of the terminal. */
export type Answer =
  | { readonly kind: "positive"; readonly apdu: Apdu }
  | { readonly kind: "negative"; readonly code: number; readonly apdu: Apdu }
  | { readonly kind: "silent"; readonly because: Silence };

type Silence =
  /** T3 is over, or the longer time within which a register reports the goods of a sale. */
  | "time-out"
  /** The register sent no ACK for the message and its repeats. */
  | "not-delivered"
  | "line-closed";

interface Asking {
  /** The longest wait for the answer, in milliseconds; missing: T3. */
  readonly timeoutMs?: number | undefined;
  /** The stage of the command that is reached when the message has been sent. */
  readonly sent?: Point;
  /** The id of the message that is sent (docs/zvt.md 9.4). */
  readonly id?: string | undefined;
}

const STATUS_ENQUIRY = 0x0501;
/** The time in ms for the last ACK to be sent, before a restart takes the lines away. */
const LAST_ACK_MS = 100;

/** A register's command until its end; the terminal is master meanwhile (docs/zvt.md 1.3, 5.2). */
export class Process extends RunningCommand<Parts, Point> {
  override readonly control: number;
  readonly request: Message;
  readonly line: Line;
  /** Cancels the wait for a card or key; undefined: Abort (06 B0) is now too early or too late. */
  cancel: (() => void) | undefined;
  /** Whether the command is cancelled when the line closes; a payment continues without it. */
  endsWithLine = false;
  /** Whether the terminal has sent its last message, so that the register is master again. */
  ending = false;
  /** The message that awaits its answer, and the message's id (docs/zvt.md 9.4). */
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

  override kill(why: string): void {
    super.kill(why);
    this.unanswered();
  }

  /** Handles an answer of the register. Returns false if no message waits for an answer. */
  answered(apdu: Apdu): boolean {
    if (!this.#asked) return false;
    const { id: asked } = this.#asked;
    const id = asked && tagValue(readable(apdu)?.tags ?? null, "messageSequence");
    // An answer with another id belongs to an earlier message, so it is ignored.
    if (id !== undefined && id !== asked) return true;
    const code = errorCodeOf(apdu.control);
    const negative = code !== undefined && ({ kind: "negative", code, apdu } as const);
    this.#settle(negative || { kind: "positive", apdu });
    return true;
  }

  /** Ends the wait for an answer: the line has closed, or the register sent its next command. */
  unanswered(): void {
    this.#settle({ kind: "silent", because: "line-closed" });
  }

  lineClosed(): void {
    this.unanswered();
    if (this.endsWithLine) this.cancel?.();
  }

  /** Gives the waiting message its first answer; later answers are ignored. */
  #settle(answer: Answer): void {
    const asked = this.#asked;
    this.#asked = undefined;
    asked?.settle(answer);
  }

  /**
   * If `bytes` repeat the command in time, sends the last answer again, because the register missed
   * our ACK (docs/zvt.md 2.4). Returns whether `bytes` repeat the command.
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

  /** Answers the command with 80 00, unless a fault refuses the command. */
  async accept(): Promise<void> {
    await this.#prepareAnswer();
    await this.#answer("positive-acknowledgement", {});
    await this.reach("accepted");
  }

  /** Answers with 80 00 a command that has no completion (docs/zvt.md 5.2). */
  async finish(): Promise<void> {
    await this.answerWith("positive-acknowledgement", {});
  }

  /** Refuses the command (84 xx), which ends it. */
  async refuse(code: number): Promise<undefined> {
    await this.answerWith("negative-acknowledgement", { errorCode: code });
  }

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
    this.ending = true;
    await this.#answer("negative-acknowledgement", { errorCode });
    throw new ProcessOver("refused by a fault");
  }

  async #answer(name: MessageName, input: Outgoing): Promise<void> {
    // An answer repeats the id of the message that it answers (docs/zvt.md 9.4).
    const answer = this.parts.encode(name, input, this.parts.requestId(this.request));
    this.#lastAnswer = answer;
    const sent = await this.line.send(answer);
    // After three sends without an ACK the command ends (docs/zvt.md 2.4), unless the line is
    // closed or the fault `mute` keeps the terminal silent.
    if (sent === "failed" && !this.line.closed && !this.parts.faults.muted) {
      throw new ProcessOver("the answer to the command got no ACK");
    }
  }

  async say(name: MessageName, input: Outgoing, asking: Asking = {}): Promise<Answer> {
    const id = this.parts.nextMessageId();
    const apdu = this.parts.encode(name, this.#permitted(input), id);
    return await this.sayRaw(apdu, { ...asking, id });
  }

  /** Sends a message that consists of a control field only. */
  async sayBare(control: number): Promise<Answer> {
    const id = this.parts.nextMessageId();
    const data = id === undefined ? new Uint8Array(0) : fromHex(`06061f7303${id}`);
    return await this.sayRaw(encodeApdu({ control, data }), { id });
  }

  async sayRaw(apdu: Uint8Array, asking: Asking = {}): Promise<Answer> {
    // A message waits for the answer to the previous one, even if that was a cancelled prompt: its
    // answer would otherwise count as the answer to this message.
    const before = this.#exchange;
    const exchange = before.then(() => this.#ask(apdu, asking));
    this.#exchange = exchange.catch(() => undefined);
    return await exchange;
  }

  async #ask(apdu: Uint8Array, { timeoutMs, sent, id }: Asking): Promise<Answer> {
    this.signal.throwIfAborted();
    // The wait for the answer begins before the message is written, its time limit afterwards.
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
      // T3 closes a TCP connection (docs/zvt.md 3.3); a longer limit, as for goods, does not.
      if (timeoutMs === undefined && this.line.transport === "tcp") this.line.close();
    });
    const given = await answer;
    timer.clear();
    this.signal.throwIfAborted();
    return given;
  }

  /** Sends the intermediate status 04 FF if the register wants it (docs/zvt.md 6.1). */
  async status(code: number): Promise<void> {
    this.#show(code);
    if (!has(this.parts.registration, "intermediateStatus")) return;
    const answer = await this.say("intermediate-status", this.#statusInput(code));
    const lost = answer.kind === "silent" && answer.because !== "line-closed";
    // If an intermediate status is not answered, the command is aborted (docs/zvt.md 3.3, 5.1). If
    // the register has closed the line, it is not: the customer notices nothing of that.
    if (lost && this.cancel) throw new ProcessOver("a status was not answered");
  }

  /** Returns the status 04 FF with T4 in minutes and a text for the display (docs/zvt.md 7.2). */
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

  /** Returns the agreed character set, or the character set that a fault demands once. */
  textCharset(): Charset {
    const agreed = this.parts.is("latin1") ? "iso8859-1" : this.parts.registration.charset;
    return (this.fault("charset")?.["set"] as Charset) ?? agreed;
  }

  #show(code: number): void {
    const stage = stageOfStatus[code];
    const { amount, currency } = this.request.fields;
    const used = currency ?? (this.parts.options.behaviour.currencies[0] as string);
    const paid = amount === undefined ? undefined : { amountMinor: amount, currency: used };
    if (stage) this.parts.screen.show(stage, paid);
  }

  async report(input: Outgoing, timeoutMs?: number): Promise<Answer> {
    await this.reach("report");
    const answer = await this.say("status-information", input, { timeoutMs, sent: "reported" });
    if (answer.kind !== "silent") await this.reach("acknowledged");
    return answer;
  }

  /** Ends the command with a report, because Read Card has no completion (docs/zvt.md 5.2, 6.7). */
  async completeWithReport(input: Outgoing): Promise<void> {
    await this.reach("report");
    this.ending = true;
    await this.say("status-information", input, { sent: "reported" });
  }

  async restart(): Promise<void> {
    await this.pause("last ACK before the restart", LAST_ACK_MS);
    this.parts.host.reboot();
  }

  /** Ends the command with its completion (06 0F). */
  async complete(input: Outgoing = {}, name: MessageName = "completion"): Promise<void> {
    await this.reach("completion");
    this.ending = true;
    await this.say(name, input, { sent: "completed" });
  }

  /** Ends the command with an abort (06 1E). */
  async abort(resultCode: number, input: Outgoing = {}): Promise<undefined> {
    const parts = this.fault("abort-without-code") ? {} : { ...input.parts, resultCode };
    await this.complete({ ...input, parts }, "abort-from-pt");
  }

  /** Returns the message; without tags if the register reads no containers (docs/zvt.md 4.3). */
  #permitted(input: Outgoing): Outgoing {
    if (input.tags === undefined || this.mayContain) return input;
    const { tags: _, ...rest } = input;
    return rest;
  }

  get mayContain(): boolean {
    const always = this.parts.is("container-unasked");
    if (always || this.parts.registration.containers || this.request.tags !== null) return true;
    // Service byte 04 of the status enquiry requests the container of tags (docs/zvt.md 6.5).
    return this.control === STATUS_ENQUIRY && ((this.request.fields.serviceByte ?? 0) & 0x04) !== 0;
  }

  fault(name: FaultName): FaultArguments | undefined {
    return this.parts.faults.take(name, { command: this.control });
  }

  /** Resolves with the result of `work`, or as soon as the register cancels the command. */
  async untilCancelled<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | "cancelled"> {
    const stop = new AbortController();
    const { promise: cancelled, resolve } = Promise.withResolvers<"cancelled">();
    this.cancel = () => resolve("cancelled");
    try {
      return await Promise.race([work(AbortSignal.any([stop.signal, this.signal])), cancelled]);
    } finally {
      this.cancel = undefined;
      stop.abort(new ProcessOver("cancelled"));
    }
  }
}

/** Returns the message of an APDU; undefined: the APDU cannot be read. */
export function readable(apdu: Apdu, context?: Parameters<typeof decodeMessage>[1]) {
  try {
    return decodeMessage(apdu, context);
  } catch (error) {
    if (error instanceof ZvtCodecError) return undefined;
    throw error;
  }
}
