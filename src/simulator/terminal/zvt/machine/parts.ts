import {
  type Charset,
  concat,
  encodeApdu,
  encodeMessage,
  type Message,
  type MessageInput,
  type MessageName,
  tag,
  tagValue,
} from "../../../../zvt/index.ts";
import type { CardName } from "../../bank/cards.ts";
import type { Device, Language } from "../../options.ts";
import { type Host, TerminalParts } from "../../terminal-parts.ts";
import type { Asked, AskOnce, QuirkName, ZvtOptions } from "../options.ts";

/** The bits of the configuration byte of a registration (docs/zvt.md 6.1). */
const configBits = {
  registerPrintsPayments: 0x02,
  registerPrintsAdministration: 0x04,
  intermediateStatus: 0x08,
  printMessages: 0x80,
} as const;

/** The terms before a registration: the terminal prints itself and sends no intermediate status. */
export const unregistered = {
  registered: false,
  configByte: 0x00,
  /** ISO 4217 numeric with a leading zero; null: the register named no currency. */
  currency: null as string | null,
  /** Whether messages to the register can have a container of tags (docs/zvt.md 4.3). */
  containers: false,
  /** The commands that tag 26 permits the terminal to send. */
  permitted: new Set() as ReadonlySet<number>,
  charset: "cp437" as Charset,
  printerWidth: 24,
  /** The receipts that the register wants (tag 1F04); null: the register did not say. */
  receiptsWanted: null as number | null,
  /** The largest message that the register accepts (tag 1A), in bytes. */
  messageBytesMax: 0xffff,
  /** Whether both sides number their messages (tag 1F73). */
  messageIds: false,
};

/** The terms that a register and the terminal have agreed on. */
export type Registration = Readonly<typeof unregistered>;

/** The terms after Log-Off: configuration byte 86, no containers of tags (docs/zvt.md 6.4). */
export const loggedOff: Registration = { ...unregistered, configByte: 0x86 };

export function has(registration: Registration, bit: keyof typeof configBits): boolean {
  return (registration.configByte & configBits[bit]) !== 0;
}

export interface Outgoing extends MessageInput {
  /** Bytes that a fault or a deviation from ZVT adds after the end of the message. */
  readonly tail?: Uint8Array;
}

const MESSAGE_ID_MAX = 999_999;

export class Parts extends TerminalParts<ZvtOptions> {
  readonly #quirks: ReadonlySet<QuirkName>;
  readonly asksOnce: AskOnce[] = [];
  /** The register's answers to the terminal's requests so far. */
  readonly asked: Asked[] = [];
  registration: Registration = unregistered;
  language: Language;
  /** The text of command 06 E0 on the customer display. */
  displayed: readonly string[] = [];
  /** The card that Read Card has read, and whether it is still inserted (docs/zvt.md 6.7). */
  readCard: { readonly card: CardName; readonly inside: boolean } | undefined;
  /** The files that the register has written (08 14), by their ids. */
  readonly files = new Map<number, Uint8Array>();
  /** Field FA of the last Activate card reader (08 50); null: there was no such command. */
  reader: number | null = null;
  /** Whether the next command is refused, after a software update (docs/zvt.md 12.6). */
  refusesOnce = false;
  /** Whether the next status enquiry is ignored, as the customer hit stop (docs/zvt.md 12.7). */
  silentOnce = false;
  /** Whether ZVT is switched off, by 08 02 or a software update (docs/zvt.md 6.4, 12.7). */
  zvtOff = false;
  #lastMessageId = 0;

  constructor(host: Host<ZvtOptions>) {
    super(host);
    this.#quirks = new Set(host.options.behaviour.quirks);
    this.language = host.options.behaviour.language ?? "en";
  }

  /** Whether this terminal deviates from ZVT in this way, as some do (docs/zvt.md 12.2 to 12.8). */
  is(quirk: QuirkName): boolean {
    return this.#quirks.has(quirk);
  }

  /** The device with the terminal id and the password that commands have set. */
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

  encode(name: MessageName, { tail = new Uint8Array(0), ...input }: Outgoing, messageId?: string) {
    const id = messageId
      ? { tags: [...(input.tags ?? []), tag("messageSequence", messageId)] }
      : {};
    const { charset } = this.registration;
    const { control, data } = encodeMessage(name, { charset, ...input, ...id });
    return encodeApdu({ control, data: concat([data, tail]) });
  }

  /** Returns the id of a register's message, which its answer repeats (1F73, docs/zvt.md 9.4). */
  requestId(request: Message): string | undefined {
    if (!this.registration.messageIds) return undefined;
    const id = tagValue(request.tags, "messageSequence");
    if (id !== undefined) this.#lastMessageId = Number(id);
    return id;
  }

  /** Restarts the message ids: the completion of a registration has 000000 (docs/zvt.md 9.4). */
  beginMessageIds(): void {
    this.#lastMessageId = -1;
  }

  nextMessageId(): string | undefined {
    if (!this.registration.messageIds) return undefined;
    this.#lastMessageId = this.#lastMessageId >= MESSAGE_ID_MAX ? 1 : this.#lastMessageId + 1;
    return String(this.#lastMessageId).padStart(6, "0");
  }
}

/** Returns date and time in the machine's time zone, YYYYMMDD and HHMMSS. */
export function localTime(at: Date): { readonly date: string; readonly time: string } {
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString();
  const [date = "", time = ""] = local.replace(/[-:]/g, "").split(/[T.]/);
  return { date, time };
}
