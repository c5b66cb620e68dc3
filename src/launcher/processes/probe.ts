import { join } from "node:path";
import type { Program } from "../../shared/ipc/contract.ts";

/*
 * An `import` of node:fs or node:net makes Node.js load seventeen more modules, a tenth of the time
 * that an empty script takes, so the files that the keep-alive always loads use getBuiltinModule.
 */
const { readFileSync } = process.getBuiltinModule("node:fs");
const { connect } = process.getBuiltinModule("node:net");

const GOOD = "HTTP/1.1 200 ";

/** "unreachable": no program listens. "no-answer": a program listens but gives no valid answer. */
type Probe = "answers" | "no-answer" | "unreachable";

/**
 * Asks a program for its status (the `status` message of shared/ipc) over a bare socket, because
 * loading the full client takes longer than an empty start of Node.js, and the keep-alive runs
 * every two minutes on a small machine (docs/design.md 9.2). Never rejects.
 */
export async function probe(runDirectory: string, program: Program, withinMs: number) {
  let address: string;
  let token: string;
  try {
    address = readFileSync(join(runDirectory, `${program}.address`), "utf8");
    token = readFileSync(join(runDirectory, "token"), "utf8");
  } catch {
    return "unreachable"; // the program was never started
  }
  // Windows uses named pipes, of which the owner has to be checked; other systems use sockets.
  const isRight = address.startsWith("\\\\.\\pipe\\")
    ? (await import("../../shared/ipc/pipe.ts")).isPipeOfLiving
    : () => true;
  return await new Promise<Probe>((resolve) => {
    let result: Probe = "unreachable";
    let received = "";
    // Reads from the socket without a stream, which would lengthen each keep-alive run by a tenth.
    const onread = {
      buffer: Buffer.alloc(GOOD.length),
      callback: (count: number, bytes: Uint8Array): boolean => {
        received += Buffer.from(bytes).toString("latin1", 0, count);
        if (received.startsWith(GOOD)) result = "answers";
        if (received.length < GOOD.length) return true;
        socket.destroy();
        return false;
      },
    };
    // `timeout` limits each pause in which no byte comes, while connecting and afterwards.
    const socket = connect({ path: address, timeout: withinMs, onread }, () => {
      if (!isRight(runDirectory, program, address)) {
        socket.destroy();
        return;
      }
      result = "no-answer";
      socket.write(statusRequest(token));
    });
    socket.on("timeout", () => socket.destroy());
    socket.on("error", () => undefined); // the event "close" follows and gives the result
    socket.on("close", () => resolve(result));
  });
}

/** Returns the request for the status, with path and header as in shared/ipc/server.ts. */
function statusRequest(token: string): string {
  return [
    "POST /v1/status HTTP/1.1",
    "host: localhost",
    "connection: close",
    "content-type: application/json",
    "content-length: 2",
    `x-connector-token: ${token}`,
    "",
    "{}",
  ].join("\r\n");
}
