import {
  type Charset,
  concat,
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
import type { Device, Language } from "../../options.ts";
import { type Host, TerminalParts } from "../../terminal-parts.ts";
import type { Asked, AskOnce, QuirkName, ZvtOptions } from "../options.ts";

/** Bits of the configuration byte (docs/zvt.md 6.1). */
const configBits = {
  registerPrintsPayments: 0x02,
  registerPrintsAdministration: 0x04,
  intermediateStatus: 0x08,
  printMessages: 0x80,
} as const;

/** Without a registration a terminal prints by itself and sends no intermediate status. */
export const unregistered = {
  registered: false,
  configByte: 0x00,
  /** ISO 4217 numeric with a leading zero; null when the register named none. */
  currency: null as string | null,
  /** The register may be sent containers (docs/zvt.md 4.3). */
  containers: false,
  /** Control fields of tag 26. */
  permitted: new Set() as ReadonlySet<number>,
  charset: "cp437" as Charset,
  printerWidth: 24,
  /** Tag 1F04: which receipts the register wants; null when it did not say. */
  receiptsWanted: null as number | null,
  /** Largest message the register takes, tag 1A. */
  messageBytesMax: 0xffff,
  /** Both sides number their messages, tag 1F73. */
  messageIds: false,
};

/** The terms that a register has agreed on. */
export type Registration = Readonly<typeof unregistered>;

/** After Log-Off: configuration byte 86 and no containers (docs/zvt.md 6.4). */
export const loggedOff: Registration = { ...unregistered, configByte: 0x86 };

export function has(registration: Registration, bit: keyof typeof configBits): boolean {
  return (registration.configByte & configBits[bit]) !== 0;
}

/** A message on its way out. */
export interface Outgoing extends MessageInput {
  /** Bytes after the end of the message, for faults. */
  readonly tail?: Uint8Array;
}

const MESSAGE_ID_MAX = 999_999;

/** The parts that all commands of the terminal share. */
export class Parts extends TerminalParts<ZvtOptions> {
  readonly #quirks: ReadonlySet<QuirkName>;
  /** Requests to the register that are made once, and how it answered earlier ones. */
  readonly asksOnce: AskOnce[] = [];
  readonly asked: Asked[] = [];
  registration: Registration = unregistered;
  language: Language;
  /** Shown on the customer display by command 06 E0. */
  displayed: readonly string[] = [];
  /** The card that Read Card has read, and whether it is still in (docs/zvt.md 6.7). */
  readCard: { readonly card: CardName; readonly inside: boolean } | undefined;
  /** Files that the register has written (08 14), by their id. */
  readonly files = new Map<number, Uint8Array>();
  /** Field FA of Activate card reader 08 50; null: not asked for since the start. */
  reader: number | null = null;
  /** After a software update the first command is refused (docs/zvt.md 12.6). */
  refusesOnce = false;
  /** After a customer's stop key: the next status enquiry is not answered (docs/zvt.md 12.7). */
  silentOnce = false;
  /** ZVT is off, after 08 02 or a software update (docs/zvt.md 6.4, 12.7). */
  zvtOff = false;
  #lastMessageId = 0;

  constructor(host: Host<ZvtOptions>) {
    super(host);
    this.#quirks = new Set(host.options.behaviour.quirks);
    this.language = host.options.behaviour.language;
  }

  /** Whether the terminal has this deviation of real ones (docs/zvt.md 12.2 to 12.8). */
  is(quirk: QuirkName): boolean {
    return this.#quirks.has(quirk);
  }

  /** The device with the changes that commands have made. */
  override get device(): Device {
    const device = super.device;
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

  /** Returns the id of the register's message (tag 1F73), for the answer (docs/zvt.md 9.4). */
  requestId(request: Message): string | undefined {
    if (!this.registration.messageIds) return undefined;
    const id = tagValue(request.tags, "messageSequence");
    if (id !== undefined) this.#lastMessageId = Number(id);
    return id;
  }

  /** Begins to number: the completion of the registration has 000000 (docs/zvt.md 9.4). */
  beginMessageIds(): void {
    this.#lastMessageId = -1;
  }

  nextMessageId(): string | undefined {
    if (!this.registration.messageIds) return undefined;
    this.#lastMessageId = this.#lastMessageId >= MESSAGE_ID_MAX ? 1 : this.#lastMessageId + 1;
    return String(this.#lastMessageId).padStart(6, "0");
  }
}

/** Returns day and time in the machine's zone, YYYYMMDD and HHMMSS. */
export function localTime(at: Date): { readonly date: string; readonly time: string } {
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString();
  const [date = "", time = ""] = local.replace(/[-:]/g, "").split(/[T.]/);
  return { date, time };
}
