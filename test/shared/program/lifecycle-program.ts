/** A program like the real ones; the file `behaviour` in its data folder says what goes wrong. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { exitCodes, ProgramExit } from "../../../src/shared/process/exit-codes.ts";
import { type ProgramContext, runProgram } from "../../../src/shared/program/lifecycle.ts";

const data = process.argv[process.argv.indexOf("--data") + 1] ?? "";
const behaviourFile = join(data, "behaviour");
const behaviour = existsSync(behaviourFile) ? readFileSync(behaviourFile, "utf8") : "";
/** Short only where the end is never reached: a busy machine may keep any other program waiting. */
const STOP_DEADLINE_MS = ["sticky close", "endless start"].includes(behaviour) ? 400 : 60_000;
const never = new Promise<never>(() => undefined);

function obey(line: string, context: ProgramContext): void {
  if (line === "throw") throw new RangeError("thrown on purpose");
  if (line === "reject") void Promise.reject(new Error("rejected on purpose"));
  if (line === "reject-text") void Promise.reject("only a text");
  if (line === "stop") context.requestStop("asked by a message");
  console.log(`obeyed ${line}`);
}

await runProgram("tp-manager", STOP_DEADLINE_MS, async (context) => {
  createInterface({ input: process.stdin }).on("line", (line) => obey(line, context));
  context.onStop("first", () => console.log("closed first"));
  context.onStop("second", async () => {
    if (behaviour === "bad close") throw new Error("cannot be closed");
    if (behaviour === "sticky close") await never;
    await new Promise((resolve) => setImmediate(resolve));
    console.log("closed second");
  });
  context.onStop("third", () => {
    context.onStop("added while stopping", () => console.log("closed late part"));
    console.log("closed third");
  });
  if (behaviour === "bad start") throw new Error("cannot start");
  if (behaviour === "no service") throw new ProgramExit(exitCodes.unavailable, "port is taken");
  console.log("started");
  if (behaviour === "endless start") await never;
});
