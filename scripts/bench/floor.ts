/**
 * The floor of `npm run bench`: the least that two programs can do for one payment.
 *   node scripts/bench/floor.ts manager|supervisor FOLDER
 * Raw HTTP from the kiosk, the same bytes to and from the terminal, one hop over a local socket,
 * one POST of the same order to the gateway, and five synced writes of 4 kB: three in the program
 * of the terminal, two in that of the gateway. It reads FOLDER/plan.json, which the bench wrote
 * from what the product had sent.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { connect, createServer as createSocketServer, type Socket } from "node:net";
import { join } from "node:path";
import { connected, converse, posterOf, readPlan } from "./conversation.ts";

const [, , role, folder = ""] = process.argv;
const plan = readPlan(folder);
const hopPath = join(folder, "floor.sock");

const PAGE_BYTES = 4096;
/** As long as a write-ahead log; it has its size before the first payment. */
const PAGES = 1000;
const page = Buffer.alloc(PAGE_BYTES, 1);

/** One write of a page that is on disk when it returns. */
function openPages(): () => void {
  const file = openSync(join(folder, `floor-${role}.bin`), "w+");
  for (let i = 0; i < PAGES; i++) writeSync(file, page, 0, PAGE_BYTES, i * PAGE_BYTES);
  fdatasyncSync(file);
  process.once("exit", () => closeSync(file));
  let at = 0;
  return () => {
    writeSync(file, page, 0, PAGE_BYTES, at * PAGE_BYTES);
    fdatasyncSync(file);
    at = (at + 1) % PAGES;
  };
}

if (role === "supervisor") runSupervisor();
else await runManager();

function runSupervisor(): void {
  const write = openPages();
  const post = posterOf(plan);
  createSocketServer((socket) => {
    onLines(socket, () => {
      write(); // stored and claimed
      post(() => {
        write(); // the result
        socket.write("sent\n");
      });
    });
  }).listen(hopPath, () => process.stdout.write("ready 0\n"));
}

async function runManager(): Promise<void> {
  const write = openPages();
  const terminal = await connected(connect({ port: plan.terminalPort, host: "127.0.0.1" }));
  const hop = await connected(connect(hopPath));
  const [registration = "", question = "", payment = ""] = plan.commands;
  await converse(terminal, registration, () => {});
  let answered = (): void => {};
  onLines(hop, () => answered());
  const server = createServer((incoming, response) => {
    let body = "";
    incoming.on("data", (chunk: Buffer) => {
      body += chunk.toString("utf8");
    });
    incoming.on("end", () => {
      void pay().then(() => {
        response.writeHead(200, {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(plan.answer),
        });
        response.end(plan.answer);
      });
    });

    async function pay(): Promise<void> {
      await converse(terminal, question, () => {});
      write(); // before the command leaves
      await converse(terminal, payment, write); // before the result gets its ACK
      write(); // the end
      await new Promise<void>((resolve) => {
        answered = resolve;
        hop.write(`${body}\n`);
      });
    }
  });
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    process.stdout.write(`ready ${port}\n`);
  });
}

function onLines(socket: Socket, line: () => void): void {
  socket.on("data", (bytes: Buffer) => {
    if (bytes.at(-1) === 0x0a) line();
  });
}
