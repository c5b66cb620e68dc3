import { maskPansInText } from "../../shared/masking/mask.ts";
import { versionNumber } from "../../shared/process/installation.ts";
import type { Logger } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { type Exchange, judge, unsendable, type Verdict } from "./faults.ts";
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

/** Longer descriptions are pages of a server in between, and are cut. */
const DESCRIPTION_CHARACTERS_MAX = 300;

/**
 * The payment gateway, as the outbox needs it:
 *
 *   transaction ─ order-request.ts ─ order-writer.ts ─ http-transport.ts ─▶ gateway
 *                 (fields, lengths)   (template)        (once, limits)         │
 *   verdict ◀──── faults.ts ◀──────── soap-answer.ts ◀─────────────────────────┘
 */
export type Gateway = ReturnType<typeof createOrders>;
export type GatewayOperations = ReturnType<typeof createOperations>;

export interface GatewayReply {
  readonly verdict: Verdict;
  /** Cuts, changes and omissions in the request, for people. */
  readonly notes: readonly string[];
}

/** The gateway over SOAP (docs/gateway.md 2.1) and its lookup (docs/gateway.md 4.3). */
export function createGatewayClient(settings: GatewaySettings, clock: Clock, log: Logger) {
  const transport = new HttpTransport(clock, settings);
  const lookUp = createLookup(settings, transport);
  return {
    ...createOrders(settings, transport, lookUp, log),
    ...createOperations(settings, transport, lookUp),
  };
}

function createOrders(
  settings: GatewaySettings,
  transport: HttpTransport,
  lookUp: Lookup,
  log: Logger,
) {
  const write = createOrderWriter(settings.url);

  /** The message, or the verdict on a transaction that cannot become one: nothing was sent. */
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
    /**
     * Sends the order of one transaction, once. Resolves with what became of it, never rejects for
     * anything the gateway or the transaction can do. An aborted signal ends the try at once.
     */
    async generate(transaction: Transaction, signal: AbortSignal): Promise<GatewayReply> {
      const order = orderRequestOf(transaction, settings);
      const message = prepare(transaction, order);
      if ("class" in message) return { verdict: message, notes: order.notes };
      const exchange = await transport.send(message, settings.timeoutMs, signal);
      const verdict = judge("generate", exchange, orderAskedFor(transaction));
      const description = safeText(verdict.description, settings.password);
      return { verdict: { ...verdict, description }, notes: order.notes };
    },
    /** Looks up whether the gateway has the order of one transaction. Resolves always. */
    async findOrder(transaction: Transaction, signal: AbortSignal): Promise<OrderFinding> {
      const exchange = await lookUp("order", transaction.orderId, signal);
      const finding = readOrderLookup(exchange, transaction);
      if (finding.kind !== "unanswered") return finding;
      const { verdict } = finding;
      const description = lookupText(verdict, settings);
      return { ...finding, verdict: { ...verdict, description } };
    },
    close: () => transport.close(),
  };
}

/** The operations on an order that the gateway has. */
function createOperations(settings: GatewaySettings, transport: HttpTransport, lookUp: Lookup) {
  const writers = {
    "transaction-v2": createSoapWriter("transaction-v2", settings.url),
    "refund-v2": createSoapWriter("refund-v2", settings.url),
  };
  return {
    /**
     * Sends confirm, cancel or card, once, and never again by itself (docs/rules/07-returns.md).
     * Resolves with what became of it, as `generate` does.
     */
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
      return { ...verdict, description: safeText(verdict.description, settings.password) };
    },

    /** The v3 lookup, by the id of a notification or by the gateway's own number. */
    async lookUp(id: string, signal: AbortSignal): Promise<LookupAnswer> {
      const answer = readLookup(await lookUp("transaction", id, signal));
      if (answer.outcome === "found") return answer;
      return { ...answer, description: lookupText(answer, settings) };
    },
  };
}

type Lookup = (what: "order" | "transaction", id: string, signal: AbortSignal) => Promise<Exchange>;

/**
 * The v3 lookup, by two addresses: plural first, as the page about events has it, then singular, as
 * the published interface has it (docs/gateway.md 4.3).
 */
function createLookup(settings: GatewaySettings, transport: HttpTransport): Lookup {
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

/** The answer to the ids `.` and `..`, which would change the path even when encoded. */
const noAddress: Exchange = { kind: "answered", httpStatus: 400, retryAfter: null, body: null };

/** The description of a lookup; where the login is refused, with the line of the setup file. */
function lookupText(
  { description, httpStatus = null }: { description: string; httpStatus?: number | null },
  { apiKey, password }: GatewaySettings,
): string {
  const text = safeText(description, password);
  if (httpStatus !== 401 && httpStatus !== 403) return text;
  const advice =
    apiKey === undefined
      ? "GATEWAY_LOGIN and GATEWAY_PWD are refused there; the lookup may need GATEWAY_API_KEY"
      : "GATEWAY_API_KEY is refused there; check it, or leave it out to use the login";
  return `${text}: the gateway refuses the credentials of the lookup; ${advice}`;
}

/** The header of the credentials: Basic, or a key (docs/gateway.md 4.4). */
function authentication({ apiKey, login, password }: GatewaySettings): Record<string, string> {
  if (apiKey !== undefined) return { "x-api-key": apiKey };
  return { authorization: `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}` };
}

const ownHeaders = {
  accept: "text/xml",
  "accept-encoding": "identity",
  "user-agent": `unattended-terminal-connector/${versionNumber}`,
};

/** The other side's text for database and log: without secret and card number, and not endless. */
function safeText(text: string, password: string): string {
  const line = text.replaceAll(password, "[removed]").replace(/\s+/g, " ").trim();
  return maskPansInText(line).slice(0, DESCRIPTION_CHARACTERS_MAX);
}
