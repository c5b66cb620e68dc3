import { closeSync, constants, openSync } from "node:fs";
import type { Socket } from "node:net";
import * as nodePty from "@lydell/node-pty";

/** The far end of a serial line made of a pseudo-terminal; `path` is what a program opens. */
export interface PtyLine {
  readonly path: string;
  write(bytes: Uint8Array): void;
  onData(listener: (bytes: Uint8Array) => void): void;
  /** Pulls the plug; the path is gone. */
  unplug(): void;
}

interface Pty {
  readonly _pty: string;
  readonly _master: Socket;
  readonly _slave: Socket;
}

/** Not in the type declarations of the package. */
const { open } = nodePty as unknown as { open(options: { encoding: null }): Pty };

export function openPtyLine(): PtyLine {
  const { _pty: path, _master: master, _slave: slave } = open({ encoding: null });
  // A second descriptor that reads nothing keeps the line alive while no program has it open.
  const keptOpen = openSync(path, constants.O_RDWR | constants.O_NOCTTY);
  // The package's own stream on this side would take bytes away from the program under test.
  slave.destroy();
  master.removeAllListeners("error");
  master.on("error", () => {}); // EIO when the plug is pulled
  let plugged = true;
  return {
    path,
    write: (bytes) => void master.write(bytes),
    onData: (listener) => void master.on("data", (bytes: Uint8Array) => listener(bytes)),
    unplug() {
      if (!plugged) return;
      plugged = false;
      closeSync(keptOpen);
      master.destroy();
    },
  };
}
