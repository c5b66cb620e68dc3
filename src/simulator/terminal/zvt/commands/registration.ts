import {
  type Apdu,
  type Charset,
  charsetOfCode,
  codeOfCharset,
  concat,
  container,
  encodeText,
  findTags,
  fromHex,
  type Message,
  type RawTag,
  tag,
  tagValue,
} from "../../../../zvt/index.ts";
import type { Device } from "../../options.ts";
import { askRegister } from "../asks.ts";
import { demandTable, mostUrgent } from "../demands.ts";
import { localTime, loggedOff, type Parts, type Registration } from "../machine/parts.ts";
import { type Command, commandWhenLocked } from "../machine/process.ts";
import { opaqueTags } from "../machine/report.ts";
import { askNames } from "../options.ts";

export const registrationCommands: readonly Command[] = [
  /** Registration 06 00 (docs/zvt.md 6.1). */
  commandWhenLocked(0x0600, async (process) => {
    const { parts, request } = process;
    const currency = request.parts.currency ?? null;
    if (currency !== null && !parts.options.behaviour.currencies.includes(currency)) {
      const refusal = { resultCode: WRONG_CURRENCY, currency };
      return await process.answerWith("currency-refused", { parts: refusal });
    }
    await process.accept();
    parts.registration = agreed(request, currency, parts);
    parts.beginMessageIds();
    await process.complete({
      fields: {
        typeByte: statusByte(parts),
        terminalId: parts.device.terminalId,
        currency: currency ?? (parts.options.behaviour.currencies[0] as string),
      },
      tags: completionTags(request, parts.registration),
    });
  }),
  /** Log-Off 06 02 (docs/zvt.md 6.4). */
  commandWhenLocked(0x0602, async (process) => {
    await process.finish();
    // The acquirer "card complete": its terminals have this byte after Log-Off (docs/zvt.md 6.4).
    const byte = process.parts.is("log-off-be") ? { configByte: 0xbe } : {};
    process.parts.registration = { ...loggedOff, ...byte };
  }),
  /** Status-Enquiry 05 01 (docs/zvt.md 6.5). */
  commandWhenLocked(0x0501, async (process) => {
    const { parts, request } = process;
    const service = request.fields.serviceByte ?? 0;
    const softwareVersion = parts.device.version;
    await process.accept();
    // The terminal sends its own requests now (docs/zvt.md 6.5); the answers change nothing.
    await askRegister(process, "status", askNames);
    const status = {
      parts: {
        ...((service & WITHOUT_VERSION) === 0 ? { softwareVersion } : {}),
        terminalStatus: terminalStatus(parts),
      },
      ...((service & WITH_CONTAINER) !== 0 ? { tags: identityTags(parts) } : {}),
    };
    await process.complete(status, "status-completion");
  }),
];

/** The bits of the status byte in the completion of a registration (docs/zvt.md 6.1). */
const INITIALISATION_NEEDED = 0x01;
const DIAGNOSIS_NEEDED = 0x02;
const VENDING_MODE = 0x10;
const WRONG_CURRENCY = 0x6f;

const PRINTER_COLUMNS_MIN = 16;
const PRINTER_COLUMNS_MAX = 80;
/** The smallest limit for messages that a register can set: the size of a report, in bytes. */
const MESSAGE_BYTES_MIN = 255;

const REGISTRATION = 0x0600;
const CURRENCY_FIELD = 0x49;
/** The position of the currency in the registration, after password and configuration byte. */
const CURRENCY_AT = 4;

/**
 * Returns the registration without a byte 49 before its currency: some registers send this byte
 * (docs/zvt.md 6.1), and no currency begins with it. undefined: there is no such byte.
 */
export function withBareCurrency({ control, data }: Apdu): Apdu | undefined {
  if (control !== REGISTRATION || data[CURRENCY_AT] !== CURRENCY_FIELD) return undefined;
  return { control, data: concat([data.subarray(0, CURRENCY_AT), data.subarray(CURRENCY_AT + 1)]) };
}

function agreed(request: Message, currency: string | null, parts: Parts): Registration {
  const width = Number(tagValue(request.tags, "printerWidth") ?? 0);
  const limit = tagValue(request.tags, "maxApdu") ?? 0xffff;
  return {
    registered: true,
    configByte: request.parts.configByte ?? 0,
    currency,
    containers: request.tags !== null,
    permitted: permittedCommands(request.tags),
    charset: agreedCharset(request.tags) ?? "cp437",
    printerWidth:
      width === 0
        ? loggedOff.printerWidth
        : Math.min(Math.max(width, PRINTER_COLUMNS_MIN), PRINTER_COLUMNS_MAX),
    receiptsWanted: tagValue(request.tags, "receiptsWanted")?.[0] ?? null,
    messageBytesMax: Math.max(limit, MESSAGE_BYTES_MIN),
    messageIds:
      parts.options.behaviour.messageIds && tagValue(request.tags, "messageSequence") !== undefined,
  };
}

/** Returns the commands in tag 26, two bytes each, in one or several tags 0A. */
function permittedCommands(tags: Message["tags"]): ReadonlySet<number> {
  const permitted = new Set<number>();
  for (const { value } of findTags(tags, "permittedCommands", "command")) {
    if (!(value instanceof Uint8Array)) continue;
    for (let at = 0; at + 1 < value.length; at += 2) {
      permitted.add(((value[at] as number) << 8) + (value[at + 1] as number));
    }
  }
  return permitted;
}

/** Returns the character set of tag 27; undefined unless it names exactly one (docs/zvt.md 6.1). */
function agreedCharset(tags: Message["tags"]): Charset | undefined {
  const asked = findTags(tags, "charsets", "charset");
  const code = asked[0]?.value;
  return asked.length === 1 && typeof code === "number" ? charsetOfCode(code) : undefined;
}

function statusByte({ memory, options }: Parts): number {
  return (
    (memory.demands.includes("initialisation") ? INITIALISATION_NEEDED : 0) +
    (memory.demands.includes("diagnosis") ? DIAGNOSIS_NEEDED : 0) +
    (options.behaviour.vending ? VENDING_MODE : 0)
  );
}

/** Returns the tags with which the terminal agrees to the register's terms (docs/zvt.md 6.1). */
function completionTags(request: Message, now: Registration): readonly RawTag[] {
  const tags: RawTag[] = [];
  if (tagValue(request.tags, "printerWidth") !== undefined) {
    tags.push(tag("printerWidth", String(now.printerWidth).padStart(2, "0")));
  }
  if (agreedCharset(request.tags) === now.charset) {
    tags.push(container("charsets", [tag("charset", codeOfCharset(now.charset))]));
  }
  if (now.permitted.size > 0) {
    const commands = [...now.permitted].flatMap((control) => [control >> 8, control & 0xff]);
    tags.push(container("permittedCommands", [tag("command", Uint8Array.from(commands))]));
  }
  return tags;
}

/** The bits of the service byte of a status enquiry (docs/zvt.md 6.5). */
const WITHOUT_VERSION = 0x02;
const WITH_CONTAINER = 0x04;

/** Returns the terminal's status (docs/zvt.md 11.5). */
function terminalStatus({ memory, outOfOrder, paperOut, cardInside }: Parts): number {
  if (outOfOrder) return 0xdf;
  if (paperOut) return 0xcc;
  const demand = mostUrgent(memory);
  if (demand) return demandTable[demand].status;
  return cardInside ? 0xdc : 0x00;
}

function identityTags(parts: Parts): readonly RawTag[] {
  const { device } = parts;
  const restart = parts.nextRestart;
  return [
    tag("terminalId", device.terminalId),
    container("device", [
      tag("deviceName", encodeText(device.name, "cp437")),
      tag("deviceVersion", encodeText(device.version, "cp437")),
      tag("deviceSerial", parts.is("binary-serial") ? binary(device) : device.serialNumber),
      tag("deviceState", parts.memory.demands.includes("initialisation") ? 0x01 : 0x00),
    ]),
    ...(parts.is("opaque-tags") ? opaqueTags : []),
    ...locks(parts),
    container("terminalClock", moment(parts.now)),
    ...(restart ? [container("nextRestart", moment(restart))] : []),
  ];
}

/** Returns the serial number as a binary number, as Feig terminals do (docs/zvt.md 11.2). */
function binary({ serialNumber }: Device): Uint8Array {
  const hex = BigInt(serialNumber).toString(16);
  return fromHex(hex.padStart(8 + (hex.length > 8 ? hex.length % 2 : 0), "0"));
}

/** Returns tag 1F55, whose bits name what locks the terminal, such as a due end of day. */
function locks({ memory, outOfOrder }: Parts): readonly RawTag[] {
  const first =
    (memory.demands.some((due) => due === "end-of-day" || due === "storage-full") ? 0x80 : 0) +
    (memory.demands.some((due) => due === "initialisation" || due === "configuration") ? 0x40 : 0) +
    (memory.demands.includes("diagnosis") ? 0x20 : 0) +
    (outOfOrder ? 0x08 : 0);
  return first === 0 ? [] : [tag("locks", Uint8Array.of(first, 0))];
}

function moment(at: Date): readonly RawTag[] {
  const { date, time } = localTime(at);
  return [tag("date", date), tag("time", time)];
}
