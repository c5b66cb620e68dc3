import type { SQLInputValue } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import frequent from "./packed-examples.json" with { type: "json" };

type Row = Record<string, SQLInputValue>;

/** The columns of `attempt` and `attempt_event` whose texts may be packed. */
export const packedColumns = ["request", "state", "baseline", "ticket", "detail", "input"] as const;

/** How a stub begins; it goes on with the number of its text and the members that SQL reads. */
const STUB = '{"packed":';
/** Stands between the texts of a row; a row with such a character in a text is not packed. */
const BETWEEN = "\0";
/** The memory in bytes for the texts of a row: Node's usual piece of 16 kB takes longer. */
const CHUNK = 8_192;

// Loaded when it is needed, because it takes 2 ms of processor time at a start.
const zlib = () => process.getBuiltinModule("node:zlib");
let dictionary: Buffer | undefined;

/** The dictionary never changes: what was packed with another one could not be read. */
function settings() {
  dictionary ??= Buffer.from(
    frequent.examples
      .map((one) => (typeof one === "string" ? one : JSON.stringify(one)))
      .join("\n"),
  );
  return { dictionary, chunkSize: CHUNK, level: 9 };
}

/**
 * Returns a row with stubs in place of its long texts, which are compressed in `packed`. A text
 * that is damaged JSON stays as it is, and so does a row whose texts would not come back the same.
 */
export function packedRow(row: Row): Row {
  const texts: string[] = [];
  const short: Row = { ...row };
  for (const name of packedColumns) {
    const text = row[name];
    const facts = typeof text === "string" ? factsIn(text) : undefined;
    if (typeof text !== "string" || !facts) continue;
    const stub = JSON.stringify({ packed: texts.length, ...facts });
    if (stub.length < text.length || text.startsWith(STUB)) short[name] = stub;
    if (short[name] === stub) texts.push(text);
  }
  if (texts.length === 0) return row;
  const packed = zlib().deflateSync(texts.join(BETWEEN), settings());
  return isDeepStrictEqual(textsIn(packed), texts) ? { ...short, packed } : row;
}

/** Puts the texts of a packed row in the place of their stubs. Throws if one of them is missing. */
export function makeWhole<T extends Row>(row: T): T {
  let texts: readonly string[] | undefined;
  for (const name of packedColumns) {
    const stub = row[name];
    if (typeof stub !== "string" || !stub.startsWith(STUB)) continue;
    texts ??= textsIn(row["packed"]);
    const text = texts[Number.parseInt(stub.slice(STUB.length), 10)];
    if (text === undefined) throw new Error(`the packed text of ${name} is missing`);
    Object.assign(row, { [name]: text });
  }
  return row;
}

/** Like {@link makeWhole}, but also throws if the members that SQL reads are not the texts' own. */
export function makeProven<T extends Row>(row: T): T {
  const stubs = { ...row };
  makeWhole(row);
  for (const name of packedColumns) {
    const [stub, text] = [stubs[name], row[name]];
    if (stub === text || typeof stub !== "string" || typeof text !== "string") continue;
    const { packed: _, ...facts } = JSON.parse(stub);
    if (JSON.stringify(facts) === JSON.stringify(factsIn(text))) continue;
    throw new Error(`the packed text of ${name} has other members`);
  }
  return row;
}

function textsIn(packed: SQLInputValue | undefined): readonly string[] {
  if (!(packed instanceof Uint8Array)) throw new Error("a row has lost its packed texts");
  return zlib().inflateSync(packed, settings()).toString().split(BETWEEN);
}

/** Returns the members that SQL statements read; undefined: the text is damaged JSON. */
function factsIn(text: string): object | undefined {
  if (!text.startsWith("{")) return {};
  try {
    const { amountMinor, idempotencyKey, report, outcome } = JSON.parse(text);
    return {
      amountMinor,
      idempotencyKey,
      report: report && { amountMinor: report.amountMinor },
      outcome: outcome && { status: outcome.status },
    };
  } catch {
    return undefined;
  }
}
