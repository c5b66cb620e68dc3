/*
 * Prometheus remote write 1.0: a WriteRequest (protobuf) in the block format of snappy. Snappy's
 * literals alone are a valid block, and a request of a fleet is small, so nothing is compressed.
 */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** null: the series has ended, so no query shows its last value any longer. */
  readonly value: number | null;
  readonly atMs: number;
}

/** The NaN with which Prometheus marks the end of a series; a number of JavaScript cannot be it. */
const STALE = Buffer.from("020000000000f07f", "hex");
const LITERAL_BYTES_MAX = 65_536;
/** As long as Prometheus itself waits for a remote write. */
const PATIENCE_MS = 30_000;

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt(value);
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

/** A field of protobuf whose value has a length: a text or a message. */
function field(number: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([varint(number * 8 + 2), varint(body.length), body]);
}

/** Encoded labels: most of them come again in each document. */
const known = new Map<string, Buffer>();
const KNOWN_MAX = 50_000;

function label(name: string, text: string): Buffer {
  const key = `${name}\n${text}`;
  const made = known.get(key) ?? field(1, field(1, Buffer.from(name)), field(2, Buffer.from(text)));
  if (known.size > KNOWN_MAX) known.clear();
  known.set(key, made);
  return made;
}

function series({ name, labels, value, atMs }: Sample): Buffer {
  const all = Object.entries({ ...labels, __name__: name });
  // Prometheus refuses labels that are not sorted by their bytes.
  const sorted = all.sort(([a], [b]) => (a < b ? -1 : 1));
  const sample = Buffer.concat([Buffer.alloc(9, 0x09), Buffer.from([0x10]), varint(atMs)]);
  if (value === null) STALE.copy(sample, 1);
  else sample.writeDoubleLE(value, 1);
  return field(1, ...sorted.map(([key, text]) => label(key, text)), field(2, sample));
}

function snappy(bytes: Buffer): Buffer {
  const parts = [varint(bytes.length)];
  for (let from = 0; from < bytes.length; from += LITERAL_BYTES_MAX) {
    const literal = bytes.subarray(from, from + LITERAL_BYTES_MAX);
    const tag = Buffer.from([61 << 2, 0, 0]);
    tag.writeUInt16LE(literal.length - 1, 1);
    parts.push(tag, literal);
  }
  return Buffer.concat(parts);
}

/** Returns the body of a remote-write request. */
export function writeRequest(samples: readonly Sample[]): Buffer {
  return snappy(Buffer.concat(samples.map(series)));
}

/**
 * Sends samples. Returns "" or why they were refused for good, such as samples that are too old.
 * Rejects when it is worth to send them again: nobody answered, or the server was at fault.
 */
export async function remoteWrite(
  url: string,
  headers: Readonly<Record<string, string>>,
  samples: readonly Sample[],
): Promise<string> {
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/x-protobuf",
      "content-encoding": "snappy",
      "x-prometheus-remote-write-version": "0.1.0",
      ...headers,
    },
    body: new Uint8Array(writeRequest(samples)),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  const text = await answer.text();
  if (answer.ok) return "";
  const why = `HTTP ${answer.status}: ${text.trim().slice(0, 200)}`;
  // Prometheus 2.42 answers 500 to a sample that is older than its window, and would so for ever.
  if (answer.status === 400 || text.includes("too old sample")) return why;
  throw new Error(why);
}
