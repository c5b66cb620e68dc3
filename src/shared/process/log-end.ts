import { open } from "node:fs/promises";

/** The whole lines within the last `bytesMax` bytes of a log; "" when there is no such file. */
export async function linesAtEnd(path: string, bytesMax: number): Promise<string> {
  try {
    const file = await open(path);
    try {
      const { size } = await file.stat();
      const length = Math.min(size, bytesMax);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
      const text = buffer.subarray(0, bytesRead).toString("utf8");
      return size > length ? text.slice(text.indexOf("\n") + 1) : text;
    } finally {
      await file.close();
    }
  } catch {
    return "";
  }
}
