import { lookupCredentials } from "../../shared/config/server-trust.ts";
import { maskPansInText } from "../../shared/masking/mask.ts";
import type { Logger } from "../../shared/process/logger.ts";
import { versionNumber } from "../../shared/program/installation.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { AskedFor } from "./asked-for.ts";
import { judge, unsendable, type Verdict } from "./faults.ts";
import type { Exchange } from "./http-connections.ts";
import type { HttpTransport } from "./http-transport.ts";
import { isUnderstood, readLookup, readOrderLookup } from "./lookup.ts";
import {
  type OperationRequest,
  operationAddresses,
  operationAskedFor,
  operationParameters,
} from "./operation-request.ts";
import { type GatewaySettings, orderAskedFor, orderRequestOf } from "./order-request.ts";
import { createOrderWriter } from "./order-writer.ts";
import { createSoapWriter, gatewayBase, type SoapMessage } from "./soap-writer.ts";

/** The length to which the gateway's description is cut; longer texts are other servers' pages. */
const DESCRIPTION_CHARACTERS_MAX = 300;

export interface GatewayReply {
  readonly verdict: Verdict;
  /** What was cut, changed or left out in the request, for people. */
  readonly notes: readonly string[];
}

type GatewayClient = ReturnType<typeof createGatewayClient>;
export type Gateway = Pick<GatewayClient, "generate" | "findOrder" | "close">;
export type OperationGateway = Pick<GatewayClient, "operate" | "lookUp">;

/**
 * Returns a client of the gateway's SOAP services (docs/gateway.md 2.1) and lookup
 * (docs/gateway.md 4.3). An aborted signal ends a request at once. No function rejects because of
 * the gateway or a transaction.
 *
 *   transaction ─ order-request.ts ─ order-writer.ts ─ http-transport.ts ─▶ gateway
 *                 (fields, lengths)   (template)        (once, limits)         │
 *   verdict ◀──── faults.ts ◀──────── soap-answer.ts ◀─────────────────────────┘
 */
export function createGatewayClient(
  settings: GatewaySettings,
  transport: HttpTransport,
  log: Logger,
) {
  const { GATEWAY_URL: url, GATEWAY_PWD: password } = settings;
  const writeOrder = createOrderWriter(url);
  const writers = {
    "transaction-v2": createSoapWriter("transaction-v2", url),
    "refund-v2": createSoapWriter("refund-v2", url),
  };
  const lookUp = createLookup(settings, transport);
  const post = async (
    written: SoapMessage,
    { operation, asked, signal }: { operation: string; asked: AskedFor; signal: AbortSignal },
  ): Promise<Verdict> => {
    const message = { ...written, headers: { ...written.headers, ...ownHeaders } };
    const exchange = await transport.send(message, settings.GATEWAY_TIMEOUT, signal);
    const verdict = judge(operation, exchange, asked);
    return { ...verdict, description: safeText(verdict.description, password) };
  };
  return {
    /** Sends the order of one transaction, once. */
    async generate(transaction: Transaction, signal: AbortSignal): Promise<GatewayReply> {
      const { parameters, notes, problems } = orderRequestOf(transaction, settings);
      if (!parameters) return { verdict: unsendable(problems.join("; ")), notes };
      let message: SoapMessage;
      try {
        message = writeOrder(parameters);
      } catch (error) {
        const { transactionId } = transaction;
        log.error({ err: error, transactionId }, "the request of an order could not be written");
        return { verdict: unwritable(error), notes };
      }
      const asked = orderAskedFor(transaction);
      return { verdict: await post(message, { operation: "generate", asked, signal }), notes };
    },
    async findOrder(transaction: Transaction, signal: AbortSignal) {
      const exchange = await lookUp("order", transaction.orderId, signal);
      const finding = readOrderLookup(exchange, transaction);
      if (finding.kind !== "unanswered") return finding;
      const description = lookupText(finding.verdict, settings);
      return { ...finding, verdict: { ...finding.verdict, description } };
    },
    /** Sends a confirm, cancel or refund, once (docs/rules/35-gateway-returns.md). */
    async operate(request: OperationRequest, signal: AbortSignal): Promise<Verdict> {
      const { service, operation } = operationAddresses[request.kind];
      let message: SoapMessage;
      try {
        message = await writers[service](operation, operationParameters(request, settings));
      } catch (error) {
        return unwritable(error);
      }
      return await post(message, { operation, asked: operationAskedFor(request), signal });
    },
    /** Looks up a transaction by the id in notifications or by the gateway's own number. */
    async lookUp(id: string, signal: AbortSignal) {
      const answer = readLookup(await lookUp("transaction", id, signal));
      return { ...answer, description: lookupText(answer, settings) };
    },
    close: () => transport.close(),
  };
}

/** Returns the verdict on a request that could not be written as SOAP, so that nothing was sent. */
function unwritable(error: unknown): Verdict {
  return unsendable(`the request could not be written: ${(error as Error).message}`);
}

/**
 * Returns the lookup by the gateway's v3 interface. The lookup tries two paths, `/v3/orders` and
 * then `/v3/order`, because the gateway documents each in another place (docs/gateway.md 4.3).
 */
function createLookup(settings: GatewaySettings, transport: HttpTransport) {
  const headers = { ...ownHeaders, accept: "application/json", ...lookupCredentials(settings) };
  const base = gatewayBase(settings.GATEWAY_URL);
  return async (what: "order" | "transaction", id: string, signal: AbortSignal) => {
    if (/^\.{1,2}$/.test(id)) return noAddress;
    const get = (path: string): Promise<Exchange> => {
      const url = `${base}/v3/${path}/${encodeURIComponent(id)}`;
      return transport.send({ url, headers, body: null }, settings.GATEWAY_TIMEOUT, signal);
    };
    const plural = await get(`${what}s`);
    return isUnderstood(plural) ? plural : await get(what);
  };
}

/** The answer to a lookup of `.` or `..`, which is not sent: the id would change the URL's path. */
const noAddress: Exchange = { kind: "answered", httpStatus: 400, retryAfter: null, body: null };

/** Returns a lookup's result as text, with the setting to check if the credentials are refused. */
function lookupText(
  { description, httpStatus }: Pick<Verdict, "description" | "httpStatus">,
  { GATEWAY_API_KEY: apiKey, GATEWAY_PWD }: GatewaySettings,
): string {
  const text = safeText(description, GATEWAY_PWD);
  if (httpStatus !== 401 && httpStatus !== 403) return text;
  const advice =
    apiKey === undefined
      ? "GATEWAY_LOGIN and GATEWAY_PWD are refused there; the lookup may need GATEWAY_API_KEY"
      : "GATEWAY_API_KEY is refused there; check it, or leave it out to use the login";
  return `${text}: the gateway refuses the credentials of the lookup; ${advice}`;
}

const ownHeaders = {
  accept: "text/xml",
  "accept-encoding": "identity",
  "user-agent": `unattended-terminal-connector/${versionNumber}`,
};

/** Returns a text of the gateway as one line, without the password and card numbers. */
function safeText(text: string, password: string): string {
  const line = text.replaceAll(password, "[removed]").replace(/\s+/g, " ").trim();
  return maskPansInText(line).slice(0, DESCRIPTION_CHARACTERS_MAX);
}
