import { randomBytes } from "node:crypto";
import { request as httpsRequest } from "node:https";
import { headerFor, NONCE_BYTES, writeMessage, writePairs } from "../../../../nexo/index.ts";
import type { TerminalParts } from "../../terminal-parts.ts";
import { keyOf, type NexoOptions } from "../options.ts";

type Parts = TerminalParts<NexoOptions> & { readonly poiId: string };
type Named = { remembered: { saleId: string; serviceId: string }; sale: { tender: string } };

/** Posts what the terminal says by itself, one message after the other (docs/nexo.md 8.2). */
export class Notifier {
  readonly #parts: Parts;
  #last: Promise<void> = Promise.resolve();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Says what happens in a payment; without one, what happens to the terminal itself. */
  say(event: string, payment?: Named): void {
    const { options, poiId, now } = this.#parts;
    const url = options.behaviour.notifyUrl;
    if (url === null) return;
    const TimeStamp = now.toISOString();
    const { saleId = "null", serviceId = "" } = payment?.remembered ?? {};
    const pairs = { TransactionID: payment?.sale.tender ?? "", TimeStamp, event };
    const PredefinedContent = { ReferenceID: writePairs(pairs) };
    const OutputContent = { OutputFormat: "MessageRef", PredefinedContent };
    const output = { Device: "CashierDisplay", InfoQualify: "Status", OutputContent };
    const [category, type] = payment
      ? (["Display", "Request"] as const)
      : (["Event", "Notification"] as const);
    const own = { ServiceID: payment && serviceId, DeviceID: "1" };
    const header = { ...headerFor(category, type, { saleId, serviceId, poiId }), ...own };
    const body = payment ? { DisplayOutput: [output] } : { EventToNotify: event, TimeStamp };
    const message = { root: "SaleToPOIRequest", header, name: `${category}${type}`, body } as const;
    const text = writeMessage(message, keyOf(options), randomBytes(NONCE_BYTES));
    this.#last = this.#last.then(() => posted(url, text));
  }
}

function posted(url: string, text: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // Which certificate a terminal accepts is not published; a message has its own protection.
  const unchecked = { rejectUnauthorized: false, agent: false, timeout: 2_000 };
  const request = httpsRequest(url, { method: "POST", ...unchecked });
  request.on("response", (response) => response.resume());
  request.on("timeout", () => request.destroy());
  request.on("error", () => {}).on("close", resolve);
  request.end(text);
  return promise;
}
