import { versionNumber } from "../../shared/installation.ts";
import type { Logger } from "../../shared/logger.ts";
import { maskPansInText } from "../../shared/mask.ts";
import type { Clock } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { judge, unsendable, type Verdict } from "./faults.ts";
import type { Gateway, GatewayReply } from "./gateway.ts";
import { createHttpTransport } from "./http-transport.ts";
import { type OrderRequest, type OrderSettings, orderRequestOf } from "./order-request.ts";
import { createSoapWriter, type SoapMessage } from "./soap-writer.ts";

export interface GatewaySettings extends OrderSettings {
  readonly url: string;
  readonly timeoutMs: number;
}

/** A gateway's sentence; more than this is a page of some server in between. */
const DESCRIPTION_CHARACTERS_MAX = 300;

/** The gateway over SOAP (gateway.md (b)). */
export function createGatewayClient(settings: GatewaySettings, clock: Clock, log: Logger): Gateway {
  const transport = createHttpTransport(clock);
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
      const exchange = await transport.post(message, settings.timeoutMs, signal);
      const verdict = judge("generate", exchange);
      const description = safeWords(verdict.description, settings.password);
      return { verdict: { ...verdict, description }, notes: order.notes };
    },
    close: () => transport.close(),
  };
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
