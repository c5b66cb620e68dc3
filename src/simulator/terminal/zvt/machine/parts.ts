import { type Clock, sleep } from "../../../../shared/time.ts";
import {
  type Charset,
  concat,
  container,
  encodeApdu,
  encodeMessage,
  type Message,
  type MessageInput,
  type MessageName,
  type RawTag,
  tag,
  tagValue,
} from "../../../../zvt/index.ts";
import type { CardName } from "../../bank/cards.ts";
import type { Ledger } from "../../bank/ledger.ts";
import { CustomerDesk } from "../../customer.ts";
import type { FaultBox, PointFault } from "../../faults/fault-box.ts";
import type { FaultArguments } from "../../faults/fault-request.ts";
import type { Memory } from "../../memory/memory.ts";
import type { Device } from "../../options.ts";
import type { Host, MachineParts } from "../../protocol.ts";
import type { PaymentScript } from "../../scenario.ts";
import type { QuirkName } from "../devices/quirks.ts";
import type { FaultName } from "../faults/fault-table.ts";
import type { ZvtOptions } from "../options.ts";
import { AskList } from "./ask-list.ts";
import { type Registration, unregistered } from "./registration.ts";
import { type Language, statusText } from "./texts.ts";

/** A message on its way out. */
export interface Outgoing extends MessageInput {
  /** Bytes behind everything that the codec can write, for faults. */
  readonly tail?: Uint8Array;
}

/** The command ends here without another word: power gone, or told to fall silent. */
export class ProcessOver extends Error {
  override readonly name = "ProcessOver";
}

/** The running process, as far as its faults reach into the parts. */
interface Faulty {
  readonly signal: AbortSignal;
  fault(name: FaultName): FaultArguments | undefined;
}

const MESSAGE_ID_MAX = 999_999;

/** The parts that all commands of the terminal share. */
export class Parts implements MachineParts {
  readonly options: ZvtOptions;
  readonly clock: Clock;
  readonly memory: Memory;
  readonly ledger: Ledger;
  readonly faults: FaultBox;
  readonly customer = new CustomerDesk();
  readonly #quirks: ReadonlySet<QuirkName>;
  readonly asks: AskList;
  registration: Registration = unregistered;
  language: Language;
  /** Set by the control API: takes no cards until unlocked (tag 1F55). */
  outOfOrder = false;
  /** Shown on the customer display by command 06 E0. */
  displayed: readonly string[] = [];
  /** Told when the clock or the time of the daily restart has changed. */
  onSchedule: () => void = () => {};
  /** Terminal clock minus ours; command 06 91 sets it. */
  #clockOffsetMs: number;
  #restartAt: string | null;
  /** The card that Read Card has read, and whether it is still in (docs/zvt.md 6.7). */
  readCard: { readonly card: CardName; readonly inside: boolean } | undefined;
  /** Files that the register has written (08 14), by their id. */
  readonly files = new Map<number, Uint8Array>();
  /** Field FA of Activate card reader 08 50; null: not asked for since the start. */
  reader: number | null = null;
  /**
   * After a software update: the first command is refused, or ZVT is off (docs/zvt.md 12.6, 12.7).
   */
  refusesOnce = false;
  /** After a customer's stop key: the next status enquiry is not answered (docs/zvt.md 12.7). */
  silentOnce = false;
  /**
   * Switched to another protocol by 08 02: ZVT is not understood any more (docs/zvt.md 6.4, 12.7).
   */
  zvtOff = false;
  /** Told about every moment that a command reaches, for the trace. */
  onPhase: (line: string) => void = () => {};
  readonly #input: Host<ZvtOptions>;
  readonly #payments: PaymentScript[];
  readonly #holds = new Set<() => void>();
  #lastMessageId = 0;
  #muteUntilMs = 0;

  constructor(input: Host<ZvtOptions>) {
    this.#input = input;
    this.options = input.options;
    this.clock = input.options.clock;
    this.memory = input.memory;
    this.ledger = input.ledger;
    this.faults = input.faults;
    this.#quirks = new Set(input.options.behaviour.quirks);
    this.asks = new AskList(input.options.behaviour.asks);
    this.language = input.options.behaviour.language;
    this.#clockOffsetMs = input.options.device.clockOffsetMs;
    this.#restartAt = input.options.behaviour.restartAt;
    this.#payments = [...input.options.payments];
  }

  /** Whether the terminal does this as some real ones do (docs/zvt.md 12.2 to 12.8). */
  is(quirk: QuirkName): boolean {
    return this.#quirks.has(quirk);
  }

  /** The terminal's facts about itself, with the changes that commands have made. */
  get device(): Device {
    const { device } = this.options;
    const { terminalId, password } = this.memory.settings;
    return {
      ...device,
      terminalId: terminalId ?? device.terminalId,
      password: password ?? device.password,
    };
  }

  get cardInside(): boolean {
    return this.readCard?.inside ?? false;
  }

  /** The terminal's own clock. */
  get now(): Date {
    return new Date(this.clock.now() + this.#clockOffsetMs);
  }

  set now(wanted: Date) {
    this.#clockOffsetMs = wanted.getTime() - this.clock.now();
    this.onSchedule();
  }

  /** HH:MM of the daily restart on the terminal's clock; null: none. */
  get restartAt(): string | null {
    return this.#restartAt;
  }

  set restartAt(at: string | null) {
    this.#restartAt = at;
    this.onSchedule();
  }

  /** When it restarts next (tag 35, docs/zvt.md 10.4). */
  get nextRestart(): Date | undefined {
    return nextRestart(this.now, this.#restartAt);
  }

  /** Power off and on. */
  reboot(): void {
    this.#input.reboot();
  }

  /** The script of the next payment, its faults armed. */
  nextPayment(): PaymentScript {
    const script = this.#payments.shift() ?? {};
    for (const fault of script.faults ?? []) this.faults.arm(fault);
    return script;
  }

  encode(
    name: MessageName,
    { tail = new Uint8Array(0), ...input }: Outgoing,
    messageId: string | undefined,
  ): Uint8Array {
    const id: readonly RawTag[] = messageId ? [tag("messageSequence", messageId)] : [];
    const tags = input.tags || messageId ? [...(input.tags ?? []), ...id] : undefined;
    const { control, data } = encodeMessage(name, {
      charset: this.registration.charset,
      ...input,
      ...(tags ? { tags } : {}),
    });
    return encodeApdu({ control, data: concat([data, tail]) });
  }

  /** The id of the register's message (tag 1F73), which its answer repeats (docs/zvt.md 9.4). */
  requestId(request: Message): string | undefined {
    if (!this.registration.messageIds) return undefined;
    const id = tagValue(request.tags, "messageSequence");
    if (id !== undefined) this.#lastMessageId = Number(id);
    return id;
  }

  /** The completion of the registration that agrees on ids echoes 000000 (docs/zvt.md 9.4). */
  beginMessageIds(): void {
    this.#lastMessageId = -1;
  }

  nextMessageId(): string | undefined {
    if (!this.registration.messageIds) return undefined;
    this.#lastMessageId = this.#lastMessageId >= MESSAGE_ID_MAX ? 1 : this.#lastMessageId + 1;
    return String(this.#lastMessageId).padStart(6, "0");
  }

  /** 04 FF: status, T4 in minutes, and a text for the display (docs/zvt.md 7.2). */
  statusInput(code: number, process: Faulty): MessageInput {
    const minutes = this.is("t4-byte-zero") ? 0 : this.options.timers.t4Ms / 60_000;
    const text = this.is("no-texts") ? "" : statusText(code, this.language);
    const omitted = this.is("no-t4-byte") || (text && process.fault("no-timeout-byte"));
    const tellT4 = Number.isInteger(minutes) && minutes <= 99 && !omitted;
    const line = tag("textLine", text, this.textCharset(process));
    return {
      parts: { status: code, ...(tellT4 ? { timeoutMinutes: minutes } : {}) },
      ...(text ? { tags: [container("displayTexts", [line])] } : {}),
    };
  }

  /** The agreed set, or another one by fault. */
  textCharset(process: Faulty): Charset {
    const agreed = this.is("latin1") ? "iso8859-1" : this.registration.charset;
    return (process.fault("charset")?.["set"] as Charset) ?? agreed;
  }

  async strike(
    fault: { name: PointFault; arguments: FaultArguments },
    process: Faulty,
  ): Promise<void> {
    const delayMs = Number(fault.arguments["ms"] ?? 0);
    switch (fault.name) {
      case "hold":
        await this.#hold(delayMs, process.signal);
        return;
      case "mute":
        this.faults.muted = true;
        this.#muteUntilMs = this.clock.monotonicMs() + delayMs;
        if (fault.arguments["at"] === "command" && fault.arguments["run"] === "no") {
          throw new ProcessOver("silent before the answer");
        }
        return;
      case "unplug":
        await this.#input.drop(delayMs);
        return;
      case "reboot":
        this.reboot();
        return;
    }
  }

  /** Lets every process go on that a fault holds. */
  release(): void {
    for (const go of [...this.#holds]) go();
  }

  /** Called when a process is over: silence lasts until then, or longer when a fault says so. */
  async endSilence(): Promise<void> {
    if (!this.faults.muted) return;
    const leftMs = this.#muteUntilMs - this.clock.monotonicMs();
    if (leftMs > 0) await sleep(this.clock, "fault mute", leftMs);
    this.faults.muted = false;
  }

  async #hold(limitMs: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const released = new Promise<void>((resolve) => this.#holds.add(resolve));
    const waits = [released, aborted(signal)];
    if (limitMs > 0) waits.push(sleep(this.clock, "fault hold", limitMs, over.signal));
    try {
      await Promise.race(waits);
    } finally {
      this.#holds.clear();
      over.abort();
    }
  }
}

/** The next HH:MM of the daily restart (docs/zvt.md 10.4, tag 35), on the terminal's own clock. */
function nextRestart(now: Date, restartAt: string | null): Date | undefined {
  if (restartAt === null) return undefined;
  const next = new Date(now);
  next.setHours(Number(restartAt.slice(0, 2)), Number(restartAt.slice(3, 5)), 0, 0);
  if (next <= now) next.setDate(next.getDate() + 1);
  return next;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
