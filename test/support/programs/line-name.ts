import { basename, dirname, join } from "node:path";

/** The path of a serial line in a folder: SERIAL_PORT takes no spaces, but TMPDIR may have some. */
export function lineIn(folder: string): string {
  const name = `${basename(dirname(folder))}-${basename(folder)}-terminal`;
  return /\s/.test(folder) ? join("/tmp", name) : join(folder, "terminal");
}
