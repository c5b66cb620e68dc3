import { relative } from "node:path";
import { z } from "zod";
import { basicAuthorization } from "../../shared/config/server-trust.ts";
import { newId } from "../../shared/new-id.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import type { Clock } from "../../shared/time.ts";
import { type CommandContext, shellArgument } from "../output.ts";
import { httpCall } from "../processes/network.ts";
import texts from "../texts-en.json" with { type: "json" };
import { API_LOGIN, apiPassword, type DemoPorts, demoFiles } from "./settings.ts";

/** The time limit of an answer in ms: more than PAYMENT_TIMEOUT + PAYMENT_GRACE + GATEWAY_WAIT. */
const ANSWER_WITHIN_MS = 240_000;

const AMOUNT = "12.00";
const AMOUNT_MINOR = 1200;

/** The members of the answer to the payment that the demo checks; it prints the whole answer. */
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
    freeData: z.object({ maskedPan: z.string().optional() }),
  }),
);

/**
 * Pays one new order as a kiosk does, prints request and answer, and checks the order at the
 * gateway sandbox. Throws {@link ProgramExit} if a value is not as expected.
 */
export async function paySample(context: CommandContext, ports: DemoPorts): Promise<void> {
  const { dataDirectory, clock, output } = context;
  const orderId = `demo-${newId()}`;
  const url = `http://127.0.0.1:${ports.localApi}/payment`;
  const json = requestText(orderId);
  output.heading("Request");
  output.text(curlLine({ url, netrcFile: demoFiles(dataDirectory).netrc, json }));
  output.heading("Answer (the simulated customer needs a moment)");
  const authorization = basicAuthorization(API_LOGIN, apiPassword(dataDirectory));
  const { status, body } = await call(clock, url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization },
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
  await checkOrder(context, ports, orderId, payment.receipt.primaryAccountNumber);
}

function requestText(orderId: string): string {
  const basket = { type: "good", quantity: 2, name: "Coffee", unit_price: 6, tax_rate: 20 };
  const whole = { ...basket, discount: 0, total_amount: 12 };
  const rest = { orderId, currency: "EUR", basket: whole, customData: { machine: 7 } };
  return `{"amount":${AMOUNT},${JSON.stringify(rest).slice(1)}`;
}

async function checkOrder(
  { clock, output }: CommandContext,
  { gateway }: DemoPorts,
  orderId: string,
  card: string,
): Promise<void> {
  const url = `http://127.0.0.1:${gateway}/sandbox/orders?merchantReference=${orderId}`;
  output.heading("The order at the gateway sandbox");
  output.text(curlLine({ url }));
  const orders = ordersSchema.safeParse((await call(clock, url, {})).body);
  if (!orders.success) {
    throw failed(`the sandbox's list is not understood: ${orders.error.message}`);
  }
  const [order, ...others] = orders.data;
  if (!order || others.length > 0) {
    throw failed(`the sandbox has ${orders.data.length} orders with this orderId`);
  }
  const { merchantReference, amount, amountMinor, currency, freeData } = order;
  output.text(
    `merchantReference ${merchantReference}, amount ${amount} ${currency}, ` +
      `card ${freeData.maskedPan ?? "not named"}`,
  );
  if (merchantReference !== orderId) throw failed("the order has another orderId");
  if (amountMinor !== AMOUNT_MINOR) throw failed("the order has another amount");
  if (!/[*xX]/.test(card)) throw failed("the answer's card number is not masked");
  if (freeData.maskedPan !== card) throw failed(`the order does not name the card ${card}`);
}

async function call(clock: Clock, url: string, request: Parameters<typeof httpCall>[1]) {
  try {
    const limit = { clock, withinMs: ANSWER_WITHIN_MS };
    const { status, text } = await httpCall(url, { ...request, limit });
    return { status, body: JSON.parse(text) as unknown };
  } catch (error) {
    throw failed(`${url}: ${(error as Error).message}`);
  }
}

const hints: Readonly<Record<string, string>> = texts.demoHints;

function refusalText({ code, message }: Record<"code" | "message", string>, ports: DemoPorts) {
  const hint = hints[code]?.replace("{console}", String(ports.console));
  return `it was refused: ${code}, ${message}${hint === undefined ? "" : ` ${hint}`}`;
}

function failed(why: string): ProgramExit {
  return new ProgramExit(exitCodes.unavailable, `The sample payment is not as it must be: ${why}`);
}

interface CurlCall {
  readonly url: string;
  /** The file with login and password, so that no command line and no shell history has them. */
  readonly netrcFile?: string;
  readonly json?: string;
}

/** Returns a curl command for a person to copy into the shell of this machine. */
export function curlLine({ url, netrcFile, json }: CurlCall): string {
  const args = ["curl", "-s"];
  if (netrcFile !== undefined) {
    const short = relative(process.cwd(), netrcFile);
    args.push("--netrc-file", short.startsWith("..") ? netrcFile : short);
  }
  if (json !== undefined) args.push("-H", "Content-Type: application/json", "-d", json);
  return [...args, url].map(shellArgument).join(" ");
}
