/** Reads the token of a run directory when a line arrives, again and again. */
import { createInterface } from "node:readline";
import { ipcToken } from "../../../src/shared/ipc/run-directory.ts";

console.log("ready");
for await (const _line of createInterface({ input: process.stdin })) {
  const tokens = Array.from({ length: 20 }, () => ipcToken(process.argv[2] as string));
  console.log([...new Set(tokens)].join(","));
}
