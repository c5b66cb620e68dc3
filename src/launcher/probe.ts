import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { Program } from "../shared/ipc/contract.ts";
import type { Clock } from "../shared/time.ts";

/**
 * "unreachable": nobody listens. "no-answer": somebody does, but the right answer did not come.
 */
export type Probe = "answers" | "no-answer" | "unreachable";

/**
 * The cheapest way to ask a program whether it is well: the `status` message of shared/ipc over a
 * bare socket. The full client and node:http alone cost more time than an empty Node start, and
 * the keep-alive runs every two minutes on a small machine (DESIGN 9). Never rejects.
 */
export function probe(
  runDirectory: string,
  program: Program,
  clock: Clock,
  withinMs: number,
): Promise<Probe> {
  let address: string;
  let token: string;
  try {
    address = readFileSync(join(runDirectory, `${program}.address`), "utf8");
    token = readFileSync(join(runDirectory, "token"), "utf8");
  } catch {
    return Promise.resolve("unreachable"); // it was never started
  }
  return new Promise((resolve) => {
    let connected = false;
    let received = "";
    const socket = connect(address, () => {
      connected = true;
      socket.write(statusRequest(token));
    });
    const timer = clock.startTimer("probe", withinMs, () => socket.destroy());
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      received += chunk;
    });
    socket.on("error", () => undefined); // "close" follows and decides
    socket.on("close", () => {
      timer.clear();
      if (received.startsWith("HTTP/1.1 200 ")) resolve("answers");
      else resolve(connected ? "no-answer" : "unreachable");
    });
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
