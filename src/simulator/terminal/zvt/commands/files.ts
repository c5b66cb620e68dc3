import { container, findTags, type Message, tag, tagValue } from "../../../../zvt/index.ts";
import { cure } from "../demands.ts";
import { type Command, command, type Process, readable } from "../machine/process.ts";
import { code } from "../machine/sale.ts";

export const fileCommands: readonly Command[] = [
  /** Write file 08 14 (docs/zvt.md 6.4, 7.4): the terminal requests each block with 04 0C. */
  command(0x0814, async (process) => {
    const { files } = process.parts;
    const announced = announcedFiles(process.request);
    if (!announced) return await process.refuse(code.messageWrong);
    await process.accept();
    const kept = [...files.values()].reduce((sum, { length }) => sum + length, 0);
    const coming = announced.reduce((sum, { length }) => sum + length, 0);
    if (kept + coming > FILE_BYTES_MAX) return await process.abort(code.memoryFull);
    for (const { id, length } of announced) {
      const content = await fetched(process, id, length);
      if (typeof content === "number") return await process.abort(content);
      files.set(id, content);
    }
    await process.complete();
  }),
  /** Delete file 08 12 (docs/zvt.md 6.4). */
  command(0x0812, async (process) => {
    const ids = findTags(process.request.tags, "file", "fileId").map(({ value }) => Number(value));
    if (ids.length === 0) return await process.refuse(code.messageWrong);
    await process.accept();
    const known = ids.filter((id) => process.parts.files.delete(id));
    await (known.length === ids.length ? process.complete() : process.abort(code.notPossible));
  }),
  /** Change configuration 08 13 (docs/zvt.md 6.4): any content of the vendor's is accepted. */
  command(0x0813, async (process) => {
    const { memory } = process.parts;
    if (!process.request.tags?.length) return await process.refuse(code.messageWrong);
    await process.accept();
    if (memory.demands.includes("configuration")) {
      cure(memory, process.control);
      memory.demand("initialisation", true);
      memory.demand("diagnosis", true);
    }
    await process.complete();
  }),
];

/** The largest size of all files together, in bytes. */
const FILE_BYTES_MAX = 4 * 1024 * 1024;

interface Announced {
  readonly id: number;
  readonly length: number;
}

/** Returns the files that the command announces; undefined: none, or one without id or length. */
function announcedFiles({ tags }: Message): readonly Announced[] | undefined {
  const files = findTags(tags, "file").map(({ children }) => ({
    id: tagValue(children, "fileId"),
    length: tagValue(children, "fileLength"),
  }));
  const whole = files.every(({ id, length }) => id !== undefined && length !== undefined);
  return whole && files.length > 0 ? (files as Announced[]) : undefined;
}

/** Resolves with a file's content, or with the result code that ends the command. */
async function fetched(process: Process, id: number, length: number): Promise<Uint8Array | number> {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const offset = new Uint8Array(4);
    new DataView(offset.buffer).setUint32(0, at);
    const wanted = [tag("fileId", id), tag("fileOffset", offset)];
    const answer = await process.say("file-request", { tags: [container("file", wanted)] });
    if (answer.kind !== "positive") return answer.kind === "negative" ? answer.code : code.aborted;
    const block = tagValue(readable(answer.apdu)?.tags ?? null, "file", "fileBlock");
    if (!block || block.length === 0 || at + block.length > length) return code.messageWrong;
    bytes.set(block, at);
    at += block.length;
  }
  return bytes;
}
