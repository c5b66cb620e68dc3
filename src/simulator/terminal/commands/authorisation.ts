import type { Outcome } from "../bank/outcome.ts";
import { charge, settle } from "../machine/deal.ts";
import { reverseMissed } from "../machine/missed.ts";
import { printDeclined } from "../machine/printing.ts";
import type { Process } from "../machine/process.ts";
import { abortedReport, declinedReport, type Reported } from "../machine/report.ts";
import {
  askHost,
  checkedOrder,
  code,
  type Order,
  presentCard,
  scriptedOutcome,
} from "../machine/sale.ts";
import { status, statusText, timeOutTexts } from "../machine/texts.ts";
import type { Command } from "./command.ts";

/** Authorisation 06 01 (zvt.md 6.2, 8, 9). */
export const authorisation: Command = {
  control: 0x0601,
  run: (process) =>
    sell(process, { title: "PURCHASE", kind: "payment", ledgerKind: "charge", stands: false }),
};

/** Pre-authorisation and reservation 06 22 (zvt.md 6.3): holds money, charges nothing. */
export const preAuthorisation: Command = {
  control: 0x0622,
  run: (process) =>
    sell(process, {
      title: "RESERVATION",
      kind: "reservation",
      ledgerKind: "reservation",
      stands: false,
    }),
};

/** Refund 06 31 (zvt.md 6.3): money goes to the card. */
export const refund: Command = {
  control: 0x0631,
  run: (process) =>
    sell(process, { title: "REFUND", kind: "refund", ledgerKind: "refund", stands: true }),
};

type Sale = Pick<Parameters<typeof charge>[1], "title" | "kind" | "ledgerKind" | "stands">;

/** Customer, host, report, receipts: the long sequence of zvt.md 1. */
async function sell(process: Process, sale: Sale): Promise<void> {
  const { parts } = process;
  // Before the command is accepted, so that the script's faults can strike there too.
  const script = parts.nextPayment();
  const order = await checkedOrder(process);
  if (!order) return;
  await reverseMissed(process);
  const outcome = scriptedOutcome(process, order, script);
  const presented = await presentCard(process, outcome, script);
  if (presented === "cancelled" || presented === "time-out") {
    // Code 6C is both: only a text tells a customer's time-out from the stop key (zvt.md 11.4).
    const text = { text: timeOutTexts[parts.language], charset: parts.textCharset(process) };
    const said = presented === "time-out" ? text : undefined;
    await process.report(abortedReport(code.aborted, parts.options.device, said));
    return await process.abort(code.aborted);
  }
  await askHost(process, script);
  if (process.fault("wrong-pin-first")) {
    await process.status(status.wrongPin);
    await process.report(abortedReport(code.wrongPin, parts.options.device));
    await askHost(process, script);
  }
  const trace = parts.memory.takeTrace();
  if (outcome.kind === "decline") {
    const told = { ...order, ...presented, trace, ...neverStored, atMs: parts.now.getTime() };
    return await decline(process, told, outcome);
  }
  const charged = chargedOrder(process, order);
  await settle(charge(process, { ...sale, ...presented, order: charged, trace }));
}

const neverStored = { originalTrace: null, authorisation: "", receiptNumber: null };

function chargedOrder(process: Process, order: Order): Order {
  const fault = process.fault("other-amount");
  if (!fault) return order;
  return { ...order, amountMinor: Math.max(order.amountMinor + Number(fault["by"]), 1) };
}

async function decline(
  process: Process,
  told: Reported,
  outcome: Extract<Outcome, { kind: "decline" }>,
): Promise<void> {
  await process.status(status.declined);
  const { language, options } = process.parts;
  const text = statusText(status.declined, language);
  const charset = process.parts.textCharset(process);
  await process.report(declinedReport(told, outcome.code, options.device, { text, charset }));
  await printDeclined(process, told, outcome.code);
  await process.abort(outcome.code);
}
