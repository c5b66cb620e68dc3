import { openPty } from "../../../../src/simulator/terminal/port/ports.ts";

/** The far end of a serial line made of a pseudo-terminal; `path` is what a program opens. */
export interface PtyLine {
  readonly path: string;
  write(bytes: Uint8Array): void;
  onData(listener: (bytes: Uint8Array) => void): void;
  /** Pulls the plug; the path is gone. */
  unplug(): void;
}

export async function openPtyLine(): Promise<PtyLine> {
  const { path, terminalEnd, close } = await openPty();
  terminalEnd.on("error", () => {}); // EIO when the plug is pulled
  let plugged = true;
  return {
    path,
    write: (bytes) => void terminalEnd.write(bytes),
    onData: (listener) => void terminalEnd.on("data", (bytes: Uint8Array) => listener(bytes)),
    unplug() {
      if (!plugged) return;
      plugged = false;
      close();
    },
  };
}
