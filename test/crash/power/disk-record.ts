/** What a program asked of the disk, or sent; `recording.c` writes them. */
export interface DiskRecord {
  readonly what: (typeof kinds)[number];
  /** Monotonic nanoseconds, comparable between processes of one machine. */
  readonly atNs: bigint;
  readonly path: string;
  /** Of a write: where; of a truncation: the new length. */
  readonly offset: number;
  /** Of a write: the bytes; of a rename: the new path; of a message: its first bytes. */
  readonly data: Buffer;
}

const kinds = [
  "create",
  "write",
  "truncate",
  "sync",
  "unlink",
  "rename",
  "send",
  "receive",
] as const;
const HEAD_BYTES = 29;

/** The whole records in `log`; a last one may be cut off, as its process was killed. */
export function diskRecords(log: Buffer): DiskRecord[] {
  const records: DiskRecord[] = [];
  for (let at = 0; at + HEAD_BYTES <= log.length; ) {
    const bytes = log.readUInt32LE(at);
    if (at + bytes > log.length) break;
    const pathEnd = at + HEAD_BYTES + log.readUInt32LE(at + 21);
    const what = kinds[log.readUInt8(at + 4) - 1];
    if (what === undefined) throw new Error(`no such record: ${log.readUInt8(at + 4)}`);
    records.push({
      what,
      atNs: log.readBigUInt64LE(at + 5),
      offset: Number(log.readBigUInt64LE(at + 13)),
      path: log.toString("utf8", at + HEAD_BYTES, pathEnd),
      data: log.subarray(pathEnd, at + bytes),
    });
    at += bytes;
  }
  return records;
}
