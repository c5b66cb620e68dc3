import { randomUUID } from "node:crypto";
import { rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPty } from "../../../../src/simulator/terminal/port/ports.ts";

/**
 * The far end of a serial line made of a pseudo-terminal. `path` is what a program opens: a link,
 * which is removed before the line is closed. The system gives the device of a closed line to the
 * next one, so a program that still tried the device itself would take the line of another test.
 */
export interface PtyLine {
  readonly path: string;
  write(bytes: Uint8Array): void;
  onData(listener: (bytes: Uint8Array) => void): void;
  /** Pulls the plug; the path is gone. */
  unplug(): void;
}

export async function openPtyLine(): Promise<PtyLine> {
  const { path: device, terminalEnd, close } = await openPty();
  const path = join(tmpdir(), `line-${randomUUID()}`);
  symlinkSync(device, path);
  terminalEnd.on("error", () => {}); // EIO when the plug is pulled
  let plugged = true;
  return {
    path,
    write: (bytes) => void terminalEnd.write(bytes),
    onData: (listener) => void terminalEnd.on("data", (bytes: Uint8Array) => listener(bytes)),
    unplug() {
      if (!plugged) return;
      plugged = false;
      rmSync(path);
      close();
    },
  };
}
