import { maskPansInText } from "../../shared/masking/mask.ts";
import { versionNumber } from "../../shared/process/installation.ts";
import type { Logger } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { type Exchange, judge, unsendable, type Verdict } from "./faults.ts";
import type { Gateway, GatewayOperations, GatewayReply } from "./gateway.ts";
import { HttpTransport, type TransportSettings } from "./http-transport.ts";
import {
  isUnderstood,
  type LookupAnswer,
  type OrderFinding,
  readLookup,
  readOrderLookup,
} from "./lookup.ts";
import {
  type OperationRequest,
  operationAddresses,
  operationAskedFor,
  operationParameters,
} from "./operation-request.ts";
import {
  type OrderRequest,
  type OrderSettings,
  orderAskedFor,
  orderRequestOf,
} from "./order-request.ts";
import { createOrderWriter } from "./order-writer.ts";
import { createSoapWriter, type SoapMessage } from "./soap-writer.ts";

export interface GatewaySettings extends OrderSettings, TransportSettings {
  readonly url: string;
  readonly timeoutMs: number;
  /** For the v3 lookup instead of login and password (GATEWAY_API_KEY). */
  readonly apiKey?: string | undefined;
}

/** A gateway's sentence; more than this is a page of some server in between. */
const DESCRIPTION_CHARACTERS_MAX = 300;

/** The gateway over SOAP (docs/gateway.md 2.1) and its lookup (docs/gateway.md 4.3). */
export function createGatewayClient(
  settings: GatewaySettings,
  clock: Clock,
  log: Logger,
): Gateway & GatewayOperations {
  const transport = new HttpTransport(clock, settings);
  const write = createOrderWriter(settings.url);
  const look = createLook(settings, transport);

  /** The message, or why this transaction cannot become one; then nothing was sent. */
  function prepare(transaction: Transaction, order: OrderRequest): SoapMessage | Verdict {
    const { parameters, problems } = order;
    if (!parameters) return unsendable(problems.join("; "));
    try {
      const message = write(parameters);
      return { ...message, headers: { ...message.headers, ...ownHeaders } };
    } catch (error) {
      const { transactionId } = transaction;
      log.error({ err: error, transactionId }, "the request could not be written");
      return unsendable(`the request could not be written: ${(error as Error).message}`);
    }
  }

  return {
    async generate(transaction: Transaction, signal: AbortSignal): Promise<GatewayReply> {
      const order = orderRequestOf(transaction, settings);
      const message = prepare(transaction, order);
      if ("class" in message) return { verdict: message, notes: order.notes };
      const exchange = await transport.send(message, settings.timeoutMs, signal);
      const verdict = judge("generate", exchange, orderAskedFor(transaction));
      const description = safeWords(verdict.description, settings.password);
      return { verdict: { ...verdict, description }, notes: order.notes };
    },
    async findOrder(transaction: Transaction, signal: AbortSignal): Promise<OrderFinding> {
      const exchange = await look("order", transaction.orderId, signal);
      const finding = readOrderLookup(exchange, transaction);
      if (finding.kind !== "unanswered") return finding;
      const { verdict } = finding;
      const description = lookupWords(verdict, settings);
      return { ...finding, verdict: { ...verdict, description } };
    },
    ...createOperations(settings, transport, look),
    close: () => transport.close(),
  };
}

function createOperations(
  settings: GatewaySettings,
  transport: HttpTransport,
  look: Look,
): GatewayOperations {
  const writers = {
    "transaction-v2": createSoapWriter("transaction-v2", settings.url),
    "refund-v2": createSoapWriter("refund-v2", settings.url),
  };
  return {
    async operate(request: OperationRequest, signal: AbortSignal): Promise<Verdict> {
      const { service, operation } = operationAddresses[request.kind];
      const written = await writers[service]
        .write(operation, operationParameters(request, settings))
        .catch((error: Error) => error);
      if (written instanceof Error) {
        return unsendable(`the request could not be written: ${written.message}`);
      }
      const message = { ...written, headers: { ...written.headers, ...ownHeaders } };
      const exchange = await transport.send(message, settings.timeoutMs, signal);
      const verdict = judge(operation, exchange, operationAskedFor(request));
      return { ...verdict, description: safeWords(verdict.description, settings.password) };
    },

    async lookUp(id: string, signal: AbortSignal): Promise<LookupAnswer> {
      const answer = readLookup(await look("transaction", id, signal));
      if (answer.outcome === "found") return answer;
      return { ...answer, description: lookupWords(answer, settings) };
    },
  };
}

type Look = (what: "order" | "transaction", id: string, signal: AbortSignal) => Promise<Exchange>;

/**
 * The v3 lookup: plural first, as the event's page has it, then singular, as the published
 * interface has it (docs/gateway.md 4.3).
 */
function createLook(settings: GatewaySettings, transport: HttpTransport): Look {
  const headers = { ...ownHeaders, accept: "application/json", ...authentication(settings) };
  const base = settings.url.replace(/\/+$/, "");
  return async (what, id, signal) => {
    if (/^\.{1,2}$/.test(id)) return noAddress;
    const get = (path: string): Promise<Exchange> => {
      const url = `${base}/v3/${path}/${encodeURIComponent(id)}`;
      return transport.send({ url, headers, body: null }, settings.timeoutMs, signal);
    };
    const plural = await get(`${what}s`);
    return isUnderstood(plural) ? plural : await get(what);
  };
}

/** `.` and `..` would change the path of the address even when encoded: answered here as 400. */
const noAddress: Exchange = { kind: "answered", httpStatus: 400, retryAfter: null, body: null };

/** A refused login is a matter of the setup file: this says of which line. */
function lookupWords(
  { description, httpStatus = null }: { description: string; httpStatus?: number | null },
  { apiKey, password }: GatewaySettings,
): string {
  const words = safeWords(description, password);
  if (httpStatus !== 401 && httpStatus !== 403) return words;
  const advice =
    apiKey === undefined
      ? "GATEWAY_LOGIN and GATEWAY_PWD are refused there; the lookup may need GATEWAY_API_KEY"
      : "GATEWAY_API_KEY is refused there; check it, or leave it out to use the login";
  return `${words}: the gateway refuses the credentials of the lookup; ${advice}`;
}

/** docs/gateway.md 4.4: Basic, or a key. */
function authentication({ apiKey, login, password }: GatewaySettings): Record<string, string> {
  if (apiKey !== undefined) return { "x-api-key": apiKey };
  return { authorization: `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}` };
}

const ownHeaders = {
  accept: "text/xml",
  "accept-encoding": "identity",
  "user-agent": `unattended-terminal-connector/${versionNumber}`,
};

/** Another side's words, fit for database and log: no secret, no card number, not endless. */
function safeWords(text: string, password: string): string {
  const words = text.replaceAll(password, "[removed]").replace(/\s+/g, " ").trim();
  return maskPansInText(words).slice(0, DESCRIPTION_CHARACTERS_MAX);
}
