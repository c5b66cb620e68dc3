const AMPERSAND = 0x26;

/**
 * The bytes of one field of an `application/x-www-form-urlencoded` body, decoded byte for byte: the
 * digest covers bytes, so no character set may come in between. undefined: the field is not there
 * exactly once, or badly encoded. Any sender may make the body, so each byte is read once. Pure.
 */
export function formField(body: Buffer, name: string): Buffer | undefined {
  const key = Buffer.from(`${name}=`);
  const starts: number[] = [];
  for (let at = body.indexOf(key); at >= 0; at = body.indexOf(key, at + 1)) {
    if (at === 0 || body[at - 1] === AMPERSAND) starts.push(at + key.length);
    if (starts.length > 1) return undefined;
  }
  const [from] = starts;
  if (from === undefined) return undefined;
  const end = body.indexOf(AMPERSAND, from);
  return decode(body.subarray(from, end < 0 ? body.length : end));
}

const PERCENT = 0x25;
const PLUS = 0x2b;
const BLANK = 0x20;

function decode(text: Buffer): Buffer | undefined {
  const bytes = Buffer.alloc(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    let byte = text[at] as number;
    if (byte === PERCENT) {
      const [high, low] = [hexDigit(text[at + 1]), hexDigit(text[at + 2])];
      if (high === undefined || low === undefined) return undefined;
      byte = 16 * high + low;
      at += 2;
    } else if (byte === PLUS) byte = BLANK;
    bytes[length++] = byte;
  }
  return bytes.subarray(0, length);
}

function hexDigit(code = 0): number | undefined {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20; // lower case
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : undefined;
}
