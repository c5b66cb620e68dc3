import { concat, ZvtCodecError } from "./bytes.ts";

/** A whole message of ZVT as it stands in a frame or in the TCP stream (docs/zvt.md 4.1). */
export interface Apdu {
  /** The control field of two bytes, for example 0x0601. */
  readonly control: number;
  readonly data: Uint8Array;
  /** Whether the length field has three bytes although one byte would be enough. */
  readonly extended?: boolean;
}

const APDU_DATA_MAX = 65_535;
const SHORT_LENGTH_MAX = 0xfe;
const EXTENDED_MARK = 0xff;

export function encodeApdu({ control, data, extended = false }: Apdu): Uint8Array {
  if (data.length > APDU_DATA_MAX) {
    throw new ZvtCodecError("too-long", `${data.length} data bytes, an APDU holds 65535`);
  }
  const isLong = extended || data.length > SHORT_LENGTH_MAX;
  const bytes = new Uint8Array((isLong ? 5 : 3) + data.length);
  bytes[0] = control >> 8;
  bytes[1] = control;
  if (isLong) {
    bytes[2] = EXTENDED_MARK;
    bytes[3] = data.length; // docs/zvt.md 4.1: low byte first
    bytes[4] = data.length >> 8;
  } else bytes[2] = data.length;
  bytes.set(data, bytes.length - data.length);
  return bytes;
}

/** Decodes exactly one APDU, the content of a serial frame. Throws {@link ZvtCodecError}. */
export function decodeApdu(bytes: Uint8Array): Apdu {
  const size = apduSize(bytes, 0);
  if (size === undefined || size.total !== bytes.length) {
    throw new ZvtCodecError(
      "length-mismatch",
      `length says ${size ? size.total : "more than"} bytes, ${bytes.length} are there`,
    );
  }
  return cut(concat([bytes]), 0, size);
}

/**
 * The first bytes of ZVT's control fields. Any other first byte on a TCP stream means that another
 * protocol answers, or that the beginning of a message was missed (docs/zvt.md 12.7, 12.8).
 */
const controlClasses: readonly number[] = [0x04, 0x05, 0x06, 0x08, 0x0f, 0x80, 0x84];

type ApduEvent =
  | { readonly event: "apdu"; readonly apdu: Apdu }
  /** An impossible control field and all bytes after it, in which no message start can be found. */
  | { readonly event: "garbage"; readonly bytes: Uint8Array };

/** Joins the pieces of a stream, cut at any byte, into APDUs (docs/zvt.md 3.2). */
export class ApduReader {
  #pending: Uint8Array = new Uint8Array(0);

  get pendingBytes(): number {
    return this.#pending.length;
  }

  push(chunk: Uint8Array): ApduEvent[] {
    const bytes = concat([this.#pending, chunk]);
    const events: ApduEvent[] = [];
    let at = 0;
    this.#pending = new Uint8Array(0);
    while (at < bytes.length) {
      if (!controlClasses.includes(bytes[at] as number)) {
        events.push({ event: "garbage", bytes: bytes.slice(at) });
        return events;
      }
      const size = apduSize(bytes, at);
      if (!size || at + size.total > bytes.length) {
        this.#pending = bytes.slice(at);
        return events;
      }
      events.push({ event: "apdu", apdu: cut(bytes, at, size) });
      at += size.total;
    }
    return events;
  }
}

/** Returns the number of bytes of an APDU; undefined: its length field is not complete yet. */
function apduSize(bytes: Uint8Array, at: number) {
  const short = bytes[at + 2];
  if (short === undefined) return undefined;
  if (short !== EXTENDED_MARK) return { header: 3, total: 3 + short };
  const low = bytes[at + 3];
  const high = bytes[at + 4];
  if (low === undefined || high === undefined) return undefined;
  return { header: 5, total: 5 + low + 256 * high };
}

function cut(bytes: Uint8Array, at: number, size: { header: number; total: number }): Apdu {
  const { header, total } = size;
  const control = (bytes[at] as number) * 256 + (bytes[at + 1] as number);
  const data = bytes.subarray(at + header, at + total);
  const extended = header === 5 && data.length <= SHORT_LENGTH_MAX;
  return extended ? { control, data, extended } : { control, data };
}
