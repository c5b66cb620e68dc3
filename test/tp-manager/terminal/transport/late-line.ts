/**
 * A program in which each read and write of a file begins 20 ms late, as on a busy machine. The
 * program sends on a serial line, closes the line at once, and opens a second line, which gets the
 * number of the closed file and is then unplugged. It prints what both lines and the register
 * received, and how the second line ended.
 */
import fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../../../src/shared/time.ts";
import type * as bytes from "../../../../src/tp-manager/terminal/transport/byte-transport.ts";
import { openPtyLine, type PtyLine } from "./pty-line.ts";

const LATE_MS = 20;
for (const what of ["read", "write"] as const) {
  const real = fs[what] as (...all: unknown[]) => void;
  const late = (...all: unknown[]): void => void sleep(LATE_MS).then(() => real(...all));
  // Promises are made of these functions by symbols that Node.js has put on them.
  for (const symbol of Object.getOwnPropertySymbols(real)) {
    Object.assign(late, { [symbol]: Reflect.get(real, symbol) });
  }
  Object.assign(fs, { [what]: late });
}

const { createTransport } = await import(
  "../../../../src/tp-manager/terminal/transport/open-transport.ts"
);
const never = new AbortController().signal;
let heard = "";
let ended = "";
let whenHeard = (): void => {};
const listener: bytes.TransportListener = {
  data: (received) => {
    heard += Buffer.from(received).toString();
    whenHeard();
  },
  closed: (problem) => {
    if (problem) ended = problem.message;
  },
};
const open = (path: string) =>
  createTransport(path, { baudRate: 9600, stopBits: 2 }, systemClock).open(listener, never);

const first = await openPtyLine();
const atFirst = received(first);
const connection = await open(first.path);
connection.write(Buffer.from("for the first line"));
await connection.close();
const second = await openPtyLine();
const atSecond = received(second);
const again = await open(second.path);
again.write(Buffer.from("for the second line"));
while (!atSecond().includes("line")) await sleep(LATE_MS);
// The read that follows these bytes begins late, after the plug was pulled.
whenHeard = () => second.unplug();
second.write(Buffer.from("from the second"));
while (!ended) await sleep(LATE_MS);
ended = ended.replace(second.path, "the port");
console.log(JSON.stringify({ atFirst: atFirst(), atSecond: atSecond(), heard, ended }));
process.exit();

function received(line: PtyLine): () => string {
  let text = "";
  line.onData((bytes) => {
    text += Buffer.from(bytes).toString();
  });
  return () => text;
}
