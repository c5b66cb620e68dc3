import { connect, type Socket } from "node:net";
import { errorTable } from "../../../src/shared/catalog/errors.ts";
import type { Random } from "../../support/inputs/random.ts";
import { attackOf, type FuzzTarget } from "./fuzz-requests.ts";

export interface FuzzResult {
  /** How often each status was answered; 0: the connection was closed without an answer. */
  readonly statuses: Map<number, number>;
  readonly problems: string[];
}

const AT_ONCE = 16;
/** Without an answer in this time the client ends its side, like a program that gives up. */
const PATIENCE_MS = 100;
const PROBLEMS_MAX = 10;

/** Attacks `target` from `count` connections, judges every answer and adds it to `result`. */
export async function fuzz(
  target: FuzzTarget,
  count: number,
  random: Random,
  result: FuzzResult,
): Promise<void> {
  const { statuses, problems } = result;
  let sent = 0;
  const worker = async (): Promise<void> => {
    while (sent < count && problems.length < PROBLEMS_MAX) {
      sent += 1;
      const attack = attackOf(random, target);
      const text = await exchange(target.port, attack);
      for (const { status, problem } of judge(text)) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (problem) problems.push(`${problem}\n${JSON.stringify(attack.slice(0, 600))}\n${text}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** Everything that is answered until the connection ends. */
function exchange(port: number, attack: string): Promise<string> {
  return new Promise((resolve) => {
    const socket: Socket = connect({ port, host: "127.0.0.1" });
    let text = "";
    socket.setTimeout(PATIENCE_MS, () => socket.end());
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      text += chunk;
      if (text.includes("\nevent: terminal")) socket.destroy(); // a stream has no end of its own
    });
    socket.on("error", () => undefined); // a reset is one of the expected ends
    socket.on("close", () => resolve(text));
    socket.write(attack, "latin1");
  });
}

interface Verdict {
  readonly status: number;
  readonly problem?: string;
}

/** The statuses of the codes of the table, and of answers without an error. */
const known = new Set([...Object.values(errorTable).map(({ http }) => http), 204]);

/** One verdict for each answer of a connection. */
function judge(text: string): Verdict[] {
  if (text === "") return [{ status: 0 }];
  const verdicts: Verdict[] = [];
  let rest = text;
  while (rest !== "") {
    rest = rest.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "");
    if (rest === "") return [...verdicts, { status: 0 }];
    const [head = ""] = rest.split("\r\n\r\n", 1);
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? Number.NaN);
    const isHead = !Number.isNaN(length) && rest.length === head.length + 4;
    const end = Number.isNaN(length) ? rest.length : head.length + 4 + (isHead ? 0 : length);
    verdicts.push(judgeOne(head, isHead ? "" : rest.slice(head.length + 4, end)));
    rest = rest.slice(end);
  }
  return verdicts;
}

function judgeOne(head: string, body: string): Verdict {
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? Number.NaN);
  if (Number.isNaN(status)) return { status: -1, problem: "not an HTTP answer" };
  if (!known.has(status)) return { status, problem: "a status that is not documented" };
  if (status === 500) return { status, problem: "a fault of the program" };
  if (/^server:|^x-powered-by:/im.test(head)) return { status, problem: "names the server" };
  if (status < 400 || body === "" || /^transfer-encoding:/im.test(head)) return { status };
  try {
    const [one] = JSON.parse(Buffer.from(body, "latin1").toString("utf8"));
    const code = one.error?.code ?? one.status;
    const row = errorTable[code as keyof typeof errorTable];
    if (row?.http === status || code === "NotReady") return { status };
    return { status, problem: `code ${code} does not belong to ${status}` };
  } catch {
    return { status, problem: "an error without the body of an error" };
  }
}
