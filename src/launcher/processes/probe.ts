import { join } from "node:path";
import type { Program } from "../../shared/ipc/contract.ts";

/*
 * An `import` of these two reads all their exports, and Node loads the modules of each export:
 * seventeen more, a tenth of an empty start. So the files that the keep-alive always loads do
 * without it.
 */
const { readFileSync } = process.getBuiltinModule("node:fs");
const { connect } = process.getBuiltinModule("node:net");

const GOOD = "HTTP/1.1 200 ";

/** "unreachable": no program listens. "no-answer": a program listens, but no right answer came. */
type Probe = "answers" | "no-answer" | "unreachable";

/**
 * Asks a program in the cheapest way whether it is well: the `status` message of shared/ipc over a
 * bare socket. The full client and node:http alone take longer than an empty Node start, and the
 * keep-alive runs every two minutes on a small machine (docs/design.md 9.2). Never rejects.
 */
export async function probe(
  runDirectory: string,
  program: Program,
  withinMs: number,
): Promise<Probe> {
  let address: string;
  let token: string;
  try {
    address = readFileSync(join(runDirectory, `${program}.address`), "utf8");
    token = readFileSync(join(runDirectory, "token"), "utf8");
  } catch {
    return "unreachable"; // it was never started
  }
  // Only on Windows is there a check, and only there it is loaded.
  const isRight = address.startsWith("\\\\.\\pipe\\")
    ? (await import("../../shared/ipc/pipe.ts")).isPipeOfLiving
    : () => true;
  return await new Promise((resolve) => {
    let result: Probe = "unreachable";
    let received = "";
    // Reads straight from the socket: the stream's own reading takes a tenth of the whole run.
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
    // The socket's own time limit is for silence, while it connects or after.
    const socket = connect({ path: address, timeout: withinMs, onread }, () => {
      if (!isRight(runDirectory, program, address)) {
        socket.destroy();
        return;
      }
      result = "no-answer";
      socket.write(statusRequest(token));
    });
    socket.on("timeout", () => socket.destroy());
    socket.on("error", () => undefined); // "close" follows and decides
    socket.on("close", () => resolve(result));
  });
}

/** Path and header as in shared/ipc/server.ts; a test asks the real server with it. */
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
