import { join } from "node:path";
import { auditPart, joined, partsOf } from "../../../src/tp-manager/audit/audit-journal.ts";
import { Journal } from "../../../src/tp-manager/journal/journal.ts";
import type {
  PaymentEnd,
  PaymentOrder,
  TransactionReport,
} from "../../../src/tp-manager/terminal/terminal.ts";
import { temporaryFolder } from "../files/temporary-folder.ts";
import { CountingTerminal } from "../terminals/counting-terminal.ts";
import { declined, report } from "../terminals/reports.ts";
import { lost, type PayScript } from "../terminals/scripted-terminal.ts";
import { type House, house, pay, request } from "./payment-house.ts";

/** The findings of an audit of this file. */
export const audit = (path: string) => joined(partsOf(path).map((part) => auditPart(path, part)));

const declines: PayScript = (_order, observer) => {
  observer.report(declined());
  return Promise.resolve({ end: "aborted", code: "05", text: "", reason: "declined", ticket: "" });
};

/** The day on which everything in the journal of {@link everyPhase} may be packed. */
export const PACKED_ON = new Date(2026, 1, 5, 9, 0, 0).getTime();

/** Packs a journal whose version has run for `days` days; returns how many attempts are packed. */
export function packed(path: string, days = 15): number {
  const journal = new Journal(path);
  const { database, packing } = journal;
  database.exec(`UPDATE packing SET since_ms = ${PACKED_ON - days * 24 * 3_600_000}`);
  while (packing.packNext(PACKED_ON));
  const n = Number(database.prepare("SELECT count(packed) AS n FROM attempt").get()?.["n"]);
  journal.close();
  return n;
}

/** A sale with numbers and a second of its own. */
const saleOf = ({ amountMinor }: PaymentOrder, receiptNumber: string): TransactionReport => {
  const localTime = `1300${receiptNumber.slice(2)}`;
  return report({ amountMinor, receiptNumber, traceNumber: `00${receiptNumber}`, localTime });
};

/** Reports a sale with this number, and sends nothing more. */
const withoutEnd =
  (receiptNumber: string): PayScript =>
  (order, observer) => {
    observer.report(saleOf(order, receiptNumber));
    return Promise.resolve(lost("line broken"));
  };

/** We ask to cancel; the terminal says that it was, and is asked whether it stored a sale. */
const cancelled =
  (at: House): PayScript =>
  async () => {
    await at.arbiter.running.cancel();
    return { end: "aborted", code: "6C", text: "", reason: "cancelled", ticket: "" };
  };

/** Reports a sale, stores it, and sends nothing more. */
const stores =
  (at: House): PayScript =>
  (order, observer) => {
    const sale = saleOf(order, "0901");
    observer.report(sale);
    at.terminal.last = { kind: "transaction", report: sale };
    return Promise.resolve(lost("line broken"));
  };

/** A sale whose goods come out: approved first, decided then. */
const issues =
  (at: House): PayScript =>
  (order, observer) => {
    const { promise, resolve } = Promise.withResolvers<PaymentEnd>();
    const sale = saleOf(order, "0902");
    observer.report(sale);
    at.terminal.onDecision = () => {
      observer.ackArrived();
      at.terminal.baseline = {
        ...at.terminal.baseline,
        last: { kind: "transaction", report: sale },
      };
      resolve({ end: "completed", ticket: "goods" });
    };
    return promise;
  };

/** The programs of a release on one journal. */
export type Release = Pick<typeof now, "house" | "pay">;
const now = { house, pay };

/**
 * A real journal with an attempt in every phase, and every way into it that is quick, as a release
 * writes it.
 */
export async function everyPhase({ house, pay }: Release = now): Promise<string> {
  const at = house(join(temporaryFolder(), "journal.db"));
  const buy = async (orderId: string, script?: PayScript): Promise<void> => {
    if (script) at.terminal.script = script;
    await pay(at, request(orderId));
    await at.clock.advance(0);
  };
  /** An order in doubt that a run of recovery has not settled. */
  const leaveInDoubt = async (orderId: string, receiptNumber: string): Promise<void> => {
    at.terminal.last = { kind: "not-told", why: "it does not tell" };
    await buy(orderId, withoutEnd(receiptNumber));
    await at.clock.advance(60_000);
  };
  at.start();
  const terminal = new CountingTerminal(at, 10);
  for (const order of ["sold", "sold-2", "reversed"]) await buy(order);
  await at.afterSale.reverse("reversed");
  await buy("declined", declines);
  terminal.sells();
  await buy("declined");
  await buy("proved-charged", stores(at));
  await at.clock.advance(60_000);
  at.terminal.script = issues(at);
  await pay(at, request("goods", { delivery: { withinSeconds: 60 } }));
  at.arbiter.running.decide("goods", { goods: "issued" });
  await at.clock.advance(0);
  const note = "seen at the terminal";
  await buy("cancelled", cancelled(at));
  await at.clock.advance(0);
  await leaveInDoubt("unknown", "0911");
  await leaveInDoubt("settled-charged", "0912");
  await leaveInDoubt("settled-not-charged", "0913");
  await at.settle({ orderId: "settled-charged", outcome: "charged", note });
  await at.settle({ orderId: "settled-not-charged", outcome: "not_charged", note });
  at.terminal.last = at.terminal.baseline.last;
  await buy("proved-not-charged", withoutEnd("0914"));
  await at.clock.advance(400_000);
  terminal.sells();
  await buy("last");
  at.terminal.reversal = () => Promise.resolve(lost("line broken"));
  at.terminal.last = { kind: "not-told", why: "it does not tell" };
  await at.afterSale.reverse("last").catch(() => undefined);
  await at.clock.advance(60_000);
  at.terminal.script = () => new Promise(() => undefined);
  void pay(at, request("running")).catch(() => undefined);
  await at.clock.advance(0);
  at.close();
  return at.path;
}
