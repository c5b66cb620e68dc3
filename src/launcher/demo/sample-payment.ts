import { randomBytes } from "node:crypto";
import { relative } from "node:path";
import { z } from "zod";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import type { Clock } from "../../shared/time.ts";
import type { Output } from "../output.ts";
import { httpCall } from "../processes/network.ts";
import { API_LOGIN, apiPassword, type DemoPorts, demoFiles } from "./settings.ts";

/** Longer than PAYMENT_TIMEOUT, PAYMENT_GRACE and GATEWAY_WAIT together. */
const ANSWER_WITHIN_MS = 240_000;

const AMOUNT = "12.00";
const AMOUNT_MINOR = 1200;

/** Of the answer only what is judged here; all of it is printed. */
const answerSchema = z.tuple([
  z.object({
    status: z.string(),
    notificationGatewaySent: z.boolean(),
    orderId: z.string(),
    amount: z.number(),
    currency: z.string(),
    receipt: z.object({ primaryAccountNumber: z.string() }),
  }),
]);

/** A request that was refused has no order at the gateway. */
const refusalSchema = z.tuple([
  z.object({
    status: z.literal("Failed"),
    error: z.object({ code: z.string(), message: z.string() }),
  }),
]);

const ordersSchema = z.array(
  z.object({
    merchantReference: z.string(),
    amount: z.string(),
    amountMinor: z.int(),
    currency: z.string(),
    /** Named by the supervisor (supervisor/gateway/order-request.ts). */
    freeData: z.object({ maskedPan: z.string().optional() }),
  }),
);

/**
 * Pays one new order as a kiosk would, prints request and answer, and checks the order at the
 * gateway sandbox. Throws {@link ProgramExit} when anything is not as it must be.
 */
export async function paySample(
  dataDirectory: string,
  ports: DemoPorts,
  clock: Clock,
  output: Output,
): Promise<void> {
  const orderId = `demo-${clock.now()}-${randomBytes(2).toString("hex")}`;
  const url = `http://127.0.0.1:${ports.localApi}/payment`;
  const json = requestText(orderId);
  output.heading("Request");
  output.text(curlLine({ url, netrcFile: demoFiles(dataDirectory).netrc, json }));
  output.heading("Answer (the simulated customer needs a moment)");
  const credentials = Buffer.from(`${API_LOGIN}:${apiPassword(dataDirectory)}`).toString("base64");
  const { status, body } = await call(clock, url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Basic ${credentials}` },
    body: json,
  });
  output.text(`HTTP ${status}\n${JSON.stringify(body, null, 2)}`);
  const refused = refusalSchema.safeParse(body);
  if (refused.success) throw failed(refusalText(refused.data[0].error, ports));
  const answer = answerSchema.safeParse(body);
  if (!answer.success) throw failed(`the answer is not a payment's: ${answer.error.message}`);
  const [payment] = answer.data;
  if (payment.status !== "Success") throw failed(`its status is ${payment.status}`);
  if (!payment.notificationGatewaySent) {
    throw failed("the gateway sandbox had not taken it in time (notificationGatewaySent: false)");
  }
  await checkOrder(orderId, payment.receipt.primaryAccountNumber, ports, clock, output);
}

function requestText(orderId: string): string {
  const basket = {
    type: "good",
    quantity: 2,
    name: "Coffee",
    unit_price: 6,
    tax_rate: 20,
    discount: 0,
    total_amount: 12,
  };
  const rest = JSON.stringify({ orderId, currency: "EUR", basket, customData: { machine: 7 } });
  return `{"amount":${AMOUNT},${rest.slice(1)}`;
}

async function checkOrder(
  orderId: string,
  card: string,
  ports: DemoPorts,
  clock: Clock,
  output: Output,
): Promise<void> {
  const url = `http://127.0.0.1:${ports.gateway}/sandbox/orders?merchantReference=${orderId}`;
  output.heading("The order at the gateway sandbox");
  output.text(curlLine({ url }));
  const { body } = await call(clock, url, {});
  const orders = ordersSchema.safeParse(body);
  if (!orders.success)
    throw failed(`the sandbox's list is not understood: ${orders.error.message}`);
  const [order, ...others] = orders.data;
  if (!order || others.length > 0) {
    throw failed(`the sandbox has ${orders.data.length} orders with this orderId`);
  }
  output.text(
    `merchantReference ${order.merchantReference}, amount ${order.amount} ${order.currency}, ` +
      `card ${order.freeData.maskedPan ?? "not named"}`,
  );
  if (order.merchantReference !== orderId) throw failed("the order has another orderId");
  if (order.amountMinor !== AMOUNT_MINOR) throw failed("the order has another amount");
  if (!/[*xX]/.test(card)) throw failed("the answer's card number is not masked");
  if (order.freeData.maskedPan !== card) throw failed(`the order does not name the card ${card}`);
}

async function call(
  clock: Clock,
  url: string,
  request: Parameters<typeof httpCall>[1],
): Promise<{ status: number; body: unknown }> {
  const abort = new AbortController();
  const timer = clock.startTimer("sample payment", ANSWER_WITHIN_MS, () =>
    abort.abort(new Error(`no answer within ${ANSWER_WITHIN_MS / 1_000} s`)),
  );
  try {
    const { status, text } = await httpCall(url, { ...request, signal: abort.signal });
    return { status, body: JSON.parse(text) };
  } catch (error) {
    const { message, cause } = error as Error;
    throw failed(`${url}: ${cause instanceof Error ? cause.message : message}`);
  } finally {
    timer.clear();
  }
}

const hints = new Map<string, (ports: DemoPorts) => string>([
  [
    "TERMINAL_IN_DOUBT",
    () =>
      " The connector was stopped while it paid; it asks the terminal as soon as the lost " +
      "payment's own time is over, about 3 minutes. Everything keeps running: try again then.",
  ],
  [
    "TERMINAL_CHANGED",
    ({ console }) =>
      " The demo has put its first terminal back, and another one was accepted since. Accept " +
      `this one at http://localhost:${console}/#in-doubt, then try again.`,
  ],
]);

function refusalText(error: { code: string; message: string }, ports: DemoPorts): string {
  const hint = hints.get(error.code)?.(ports) ?? "";
  return `it was refused: ${error.code}, ${error.message}${hint}`;
}

function failed(why: string): ProgramExit {
  return new ProgramExit(exitCodes.unavailable, `The sample payment is not as it must be: ${why}`);
}

/** A curl command that a reader can copy into the shell of this machine. */
interface CurlCall {
  readonly url: string;
  /** Holds login and password, so that no command line and no history does. */
  readonly netrcFile?: string;
  readonly json?: string;
}

export function curlLine({ url, netrcFile, json }: CurlCall): string {
  const args = ["curl", "-s"];
  if (netrcFile !== undefined) args.push("--netrc-file", quote(shortPath(netrcFile)));
  if (json !== undefined) args.push("-H", quote("Content-Type: application/json"));
  if (json !== undefined) args.push("-d", quote(json));
  args.push(/^[\w./:-]+$/.test(url) ? url : quote(url));
  return args.join(" ");
}

function shortPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short.startsWith("..") ? path : short;
}

/** A word of a command line that a reader copies. */
export function quote(text: string): string {
  if (/^[\w./-]+$/.test(text)) return text;
  // cmd.exe knows double quotes only; curl.exe reads \" inside them.
  if (process.platform === "win32") return `"${text.replaceAll('"', '\\"')}"`;
  return `'${text.replaceAll("'", "'\\''")}'`;
}
