/** A local server in a process of its own: data folder in the argument, "close" on its input. */
import { createInterface } from "node:readline";
import type { Program } from "../../../src/shared/ipc/contract.ts";
import { openRunDirectory } from "../../../src/shared/ipc/run-directory.ts";
import { startIpcServer } from "../../../src/shared/ipc/server.ts";
import { createLogger } from "../../../src/shared/process/logger.ts";
import { testMessages } from "./test-messages.ts";

const [data = "", program = "supervisor"] = process.argv.slice(2);
const held: Array<() => void> = [];

const server = await startIpcServer({
  runDirectory: openRunDirectory(data),
  program: program as Program,
  messages: testMessages,
  log: createLogger({ program, level: "debug", file: `${data}/logs/${program}.log` }),
  handlers: {
    echo: ({ text }) => Promise.resolve({ text, pid: process.pid }),
    hold: () =>
      new Promise<{ held: true }>((resolve) => {
        held.push(() => resolve({ held: true }));
        console.log("holding");
      }),
    release: () => {
      const released = held.length;
      for (const go of held.splice(0)) go();
      return Promise.resolve({ released });
    },
    fail: () => Promise.reject(new Error("the handler failed on purpose")),
    huge: ({ bytes }) => Promise.resolve({ text: "x".repeat(bytes) }),
    misshapen: () => Promise.resolve({ count: "three" as unknown as number }),
    unsendable: () => Promise.resolve({ big: 1n }),
    nothing: () => Promise.resolve(undefined),
    die: () => process.exit(1),
  },
});
console.log("listening");
for await (const line of createInterface({ input: process.stdin })) {
  if (line === "release") for (const go of held.splice(0)) go();
  if (line !== "close") continue;
  const closed = server.close();
  console.log("closing");
  void closed.then(() => console.log("closed"));
}
