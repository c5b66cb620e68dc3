/** What the counterparts of the bench share: what the product sent, and the terminal's dialogue. */
import { readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import type { Socket } from "node:net";
import { join } from "node:path";
import type { SoapRequest } from "./fake-gateway.ts";

type Row = Readonly<Record<string, unknown>>;

/** One payment as the product made it, for the counterparts to repeat. */
export interface Plan {
  readonly terminalPort: number;
  readonly gatewayUrl: string;
  /** Whether the packages send the order as the floor does, not by the package soap. */
  readonly withoutSoap: boolean;
  /** The registration, the question for the last sale and the payment, as the product sent them. */
  readonly commands: readonly string[];
  readonly order: SoapRequest;
  /** The product's answer to a payment. */
  readonly answer: string;
  /** The rows of the payment in both databases, by table. */
  readonly rows: Readonly<Record<string, readonly Row[]>>;
  /** The lines of the payment in the log of each program. */
  readonly lines: Readonly<Record<string, readonly Row[]>>;
}

export function writePlan(folder: string, plan: Plan): void {
  writeFileSync(join(folder, "plan.json"), JSON.stringify(plan));
}

export function readPlan(folder: string): Plan {
  return JSON.parse(readFileSync(join(folder, "plan.json"), "utf8")) as Plan;
}

const ACK = Buffer.from("800000", "hex");
const RESULT = 0x040f;
const COMPLETED = 0x060f;
const ACCEPTED = 0x8000;

/** Sends a command, and the ACK of each message that comes, up to the completion. */
export function converse(terminal: Socket, command: string, onResult: () => void): Promise<void> {
  return new Promise((resolve) => {
    let pending: Buffer = Buffer.alloc(0);
    const listen = (bytes: Buffer): void => {
      pending = pending.length === 0 ? bytes : Buffer.concat([pending, bytes]);
      for (let size = sizeOf(pending); size !== undefined; size = sizeOf(pending)) {
        const control = pending.readUInt16BE(0);
        pending = pending.subarray(size);
        if (control === ACCEPTED) continue;
        if (control === RESULT) onResult();
        terminal.write(ACK);
        if (control !== COMPLETED) continue;
        terminal.off("data", listen);
        resolve();
      }
    };
    terminal.on("data", listen);
    terminal.write(Buffer.from(command, "hex"));
  });
}

/** Bytes of the message that `bytes` begins with; undefined when it is not whole. */
function sizeOf(bytes: Buffer): number | undefined {
  if (bytes.length < 3) return undefined;
  const short = bytes.readUInt8(2);
  if (short === 0xff && bytes.length < 5) return undefined;
  const size = short === 0xff ? 5 + bytes.readUInt16LE(3) : 3 + short;
  return size <= bytes.length ? size : undefined;
}

export function connected(socket: Socket): Promise<Socket> {
  socket.setNoDelay();
  return new Promise((resolve, reject) => {
    socket.once("connect", () => resolve(socket));
    socket.once("error", reject);
  });
}

/** Returns a function that sends the order to the gateway once, and calls `done` at the end. */
export function posterOf({ gatewayUrl, order }: Plan): (done: () => void) => void {
  const { path, headers, body } = order;
  const agent = new Agent({ keepAlive: true });
  const length = Buffer.byteLength(body);
  const options = { method: "POST", agent, headers: { ...headers, "content-length": length } };
  return (done) => {
    const sent = request(gatewayUrl + path, options, (response) => {
      response.resume();
      response.on("end", done);
    });
    sent.end(body);
  };
}
