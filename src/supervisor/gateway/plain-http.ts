/**
 * The head of an HTTP answer in the plain form that servers write: complete in one piece, with one
 * length or plain chunks. Any other form is refused instead of guessed; such an answer of the
 * gateway is left to Node's own reader (docs/gateway.md 2.11).
 */
export interface PlainHead {
  readonly httpStatus: number;
  readonly retryAfter: string | null;
  readonly date: string | undefined;
  readonly headBytes: number;
  /** The length of the body in bytes; null: the body comes in chunks. */
  readonly bodyBytes: number | null;
  /** For how many ms the server keeps the idle connection open; 0: the server closes it at once. */
  readonly keptMs: number;
}

/** The longest head of an answer in bytes, as in Node. */
const HEAD_BYTES_MAX = 16 * 1024;
/** How long before the server's limit we close an idle connection, so that no request is lost. */
const EARLY_MS = 1_000;

const statusLine = /^HTTP\/1\.1 ([2-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*([\t\x20-\x7e\x80-\xff]*)$/;
/** The statuses of answers that have no body, whatever their head says. */
const bodiless = new Set(["204", "304"]);

/**
 * Returns the head at the start of an answer; undefined: the head is not complete, or not in the
 * plain form.
 */
export function readPlainHead(piece: Buffer): PlainHead | undefined {
  const text = piece.toString("latin1", 0, Math.min(piece.length, HEAD_BYTES_MAX));
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const status = statusLine.exec(first)?.[1];
  if (status === undefined || bodiless.has(status)) return undefined;
  const headers = headersOf(lines);
  const bodyBytes = headers && bodyBytesOf(headers);
  const keptMs = headers && keptMsOf(headers);
  if (!headers || bodyBytes === undefined || keptMs === undefined) return undefined;
  const retryAfter = headers.get("retry-after") ?? null;
  const found = { retryAfter, date: headers.get("date"), bodyBytes, keptMs };
  return { ...found, httpStatus: Number(status), headBytes: end + 4 };
}

/** Returns the headers that the sender uses; undefined: a header is not plain, or occurs twice. */
function headersOf(lines: readonly string[]): Map<string, string> | undefined {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, given = "", padded = ""] = headerLine.exec(line) ?? [];
    const name = given.toLowerCase();
    if (name === "" || name === "upgrade" || name === "trailer") return undefined;
    if (!meaningful.has(name)) continue;
    if (headers.has(name)) return undefined;
    headers.set(name, padded.trimEnd());
  }
  return headers;
}

const meaningful = new Set([
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "retry-after",
  "date",
]);

function bodyBytesOf(headers: ReadonlyMap<string, string>): number | null | undefined {
  const [length, coding] = [headers.get("content-length"), headers.get("transfer-encoding")];
  if (coding !== undefined) {
    return length === undefined && coding.toLowerCase() === "chunked" ? null : undefined;
  }
  return length !== undefined && /^\d{1,9}$/.test(length) ? Number(length) : undefined;
}

function keptMsOf(headers: ReadonlyMap<string, string>): number | undefined {
  const connection = headers.get("connection")?.toLowerCase();
  if (connection === "close") return 0;
  if (connection !== undefined && connection !== "keep-alive") return undefined;
  const seconds = /(?:^|[,; ])timeout=(\d{1,6})/.exec(headers.get("keep-alive") ?? "")?.[1];
  if (seconds === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(Number(seconds) * 1_000 - EARLY_MS, 0);
}

const chunkHead = /^([0-9A-Fa-f]{1,7})\r\n/;

/**
 * Returns the body out of its chunks, and the number of bytes that all chunks took. "more": chunks
 * are still to come; undefined: the chunks have extensions, trailers or errors.
 */
export function readChunks(
  coded: Buffer,
): { readonly body: Buffer; readonly bytes: number } | "more" | undefined {
  const parts: Buffer[] = [];
  let at = 0;
  for (;;) {
    const begin = coded.toString("latin1", at, Math.min(at + 9, coded.length));
    const size = chunkHead.exec(begin)?.[1];
    if (size === undefined) return /^[0-9A-Fa-f]{0,7}\r?$/.test(begin) ? "more" : undefined;
    const from = at + size.length + 2;
    const to = from + Number.parseInt(size, 16);
    const after = coded.toString("latin1", to, Math.min(to + 2, coded.length));
    if (after !== "\r\n") return "\r\n".startsWith(after) ? "more" : undefined;
    at = to + 2;
    if (to === from) return { body: Buffer.concat(parts), bytes: at };
    parts.push(coded.subarray(from, to));
  }
}
