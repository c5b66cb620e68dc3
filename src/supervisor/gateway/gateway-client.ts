import { versionNumber } from "../../shared/installation.ts";
import type { Logger } from "../../shared/logger.ts";
import { maskPansInText } from "../../shared/mask.ts";
import type { Clock } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { judge, unsendable, type Verdict } from "./faults.ts";
import type { Gateway, GatewayOperations, GatewayReply } from "./gateway.ts";
import {
  createHttpTransport,
  type HttpTransport,
  type TransportSettings,
} from "./http-transport.ts";
import { type LookupAnswer, readLookup } from "./lookup.ts";
import {
  type OperationRequest,
  operationAddresses,
  operationParameters,
} from "./operation-request.ts";
import { type OrderRequest, type OrderSettings, orderRequestOf } from "./order-request.ts";
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
  const transport = createHttpTransport(clock, settings);
  const payments = createSoapWriter("payment-v2", settings.url);

  /** The message, or why this transaction cannot become one; then nothing was sent. */
  async function prepare(
    transaction: Transaction,
    order: OrderRequest,
  ): Promise<SoapMessage | Verdict> {
    const { parameters, problems } = order;
    if (!parameters) return unsendable(problems.join("; "));
    await payments.ready(); // a broken installation is not this transaction's fault
    try {
      const message = await payments.write("generate", parameters);
      return { ...message, headers: { ...message.headers, ...ownHeaders } };
    } catch (error) {
      const { transactionId } = transaction;
      log.error({ err: error, transactionId }, "the request could not be written");
      return unsendable(`the request could not be written: ${(error as Error).message}`);
    }
  }

  return {
    ready: () => payments.ready(),
    async generate(transaction: Transaction, signal: AbortSignal): Promise<GatewayReply> {
      const order = orderRequestOf(transaction, settings);
      const message = await prepare(transaction, order);
      if ("class" in message) return { verdict: message, notes: order.notes };
      const exchange = await transport.send(message, settings.timeoutMs, signal);
      const verdict = judge("generate", exchange);
      const description = safeWords(verdict.description, settings.password);
      return { verdict: { ...verdict, description }, notes: order.notes };
    },
    ...createOperations(settings, transport),
    close: () => transport.close(),
  };
}

function createOperations(settings: GatewaySettings, transport: HttpTransport): GatewayOperations {
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
      const verdict = judge(operation, exchange);
      return { ...verdict, description: safeWords(verdict.description, settings.password) };
    },

    async lookUp(id: string, signal: AbortSignal): Promise<LookupAnswer> {
      const headers = { ...ownHeaders, accept: "application/json", ...authentication(settings) };
      const base = settings.url.replace(/\/+$/, "");
      const get = async (path: string): Promise<LookupAnswer> => {
        const url = `${base}/v3/${path}/${encodeURIComponent(id)}`;
        const message = { url, headers, body: null };
        return readLookup(await transport.send(message, settings.timeoutMs, signal));
      };
      // The event's page writes the plural, the published interface the singular
      // (docs/gateway.md 4.3).
      const answer = await get("transactions");
      const last =
        answer.outcome === "failed" && answer.class === "not-found"
          ? await get("transaction")
          : answer;
      return last.outcome === "found"
        ? last
        : { ...last, description: safeWords(last.description, settings.password) };
    },
  };
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
