import { type Notice, safeId, safeText } from "../../../nexo/index.ts";
import type { PaymentEnd, PaymentObserver, Prompt } from "../terminal.ts";
import type { NexoContext } from "./nexo-options.ts";
import prompts from "./prompts.json" with { type: "json" };

/** The events with a text for customers; none of them says how a payment ends. */
const promptTexts = new Map<string, NonNullable<Prompt["texts"]>>(Object.entries(prompts));
/** The most notifications that one payment takes; an honest one has fewer than 30. */
const NOTICES_MAX = 100;

/** What the terminal says of one payment while it runs (docs/nexo.md 8.2). Decides nothing. */
export function progressOf(context: NexoContext, serviceId: string, observer?: PaymentObserver) {
  let left = NOTICES_MAX;
  let named: string | null = null;
  return {
    /** Shows the prompt of a notification, if it is about this very payment. */
    take({ event: code, header, tender }: Notice): void {
      const { options, log } = context;
      if (header.ServiceID !== serviceId || header.SaleID !== options.saleId) return;
      left -= 1;
      if (left < 0) return;
      named ??= /^[\w.-]{1,64}$/.test(tender ?? "") ? safeId(tender) : null;
      if (tender !== undefined && tender !== named) return;
      log.info({ serviceId, tender: named, event: safeText(code) }, "a notification of a payment");
      const texts = promptTexts.get(code);
      if (texts) observer?.prompt({ code, text: texts.en, language: "en", texts });
    },
    /** Adds to an unknown end the name by which an operator finds the payment at the terminal. */
    ended(end: PaymentEnd): PaymentEnd {
      if (end.end !== "lost" || named === null) return end;
      return { ...end, text: `${end.text}; the terminal had named the payment ${named}` };
    },
  };
}
