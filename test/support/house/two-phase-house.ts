import { errorTable } from "../../../src/shared/catalog/errors.ts";
import { answerOf } from "../../../src/tp-manager/orders/answer.ts";
import type { GoodsDecision, PaymentEnd } from "../../../src/tp-manager/terminal/terminal.ts";
import { declined, report } from "../terminals/reports.ts";
import { aborted, lost } from "../terminals/scripted-terminal.ts";
import { alarms, type House, house, pay, request } from "./payment-house.ts";

/** A two-phase sale, what a kiosk reports about its goods, and what is then found of the order. */

export const twoPhase = request("A-1", { delivery: { withinSeconds: 30 } });
const completed: PaymentEnd = { end: "completed", ticket: "" };
/** What a terminal has stored that has reversed the sale. */
const back = { traceNumber: "000099", originalTrace: "000012", localTime: "130105" };
export const reversal = report(back);

/** A terminal that waits at the approval; `end` is called with each decision, and can end it. */
export async function approved(
  end: (decision: GoodsDecision, resolve: (end: PaymentEnd) => void) => void = ({ goods }, ends) =>
    ends(goods === "not-issued" ? aborted : completed),
): Promise<House & { readonly giveUp: () => void }> {
  const at = house();
  let giveUp = (): void => {};
  at.terminal.script = (_order, observer) =>
    new Promise((resolve) => {
      observer.report(report());
      giveUp = () => void observer.report(declined({ resultCode: "6C", reason: "cancelled" }));
      at.terminal.onDecision = (decision) => end(decision, resolve);
    });
  await pay(at, twoPhase);
  return { ...at, giveUp: () => giveUp() };
}

/** The approved sale whose end at the terminal comes when the test calls `ends`. */
export async function held() {
  let ends = (_end: PaymentEnd): void => {};
  const at = await approved((_decision, resolve) => {
    ends = resolve;
  });
  return { at, ends: (end: PaymentEnd) => ends(end) };
}

/** The sale of which the kiosk reported in time that no goods came out. */
export async function withheld() {
  const at = await approved();
  await deliver(at, false);
  return at;
}

/** The sale of which the kiosk reported nothing in time. */
export async function silent() {
  const at = await approved();
  await at.clock.advance(30_000);
  return at;
}

export async function deliver(at: House, delivered: boolean) {
  const answer = at.afterSale.deliver("A-1", delivered, undefined);
  answer.catch(() => undefined);
  await at.clock.advance(0);
  const { attempt, delivery } = await answer;
  return answerOf(attempt, delivery);
}

export const decided = (charged: string) => ({ code: "DELIVERY_DECIDED", charged });

export async function found(at: House) {
  const { attempt, attempts } = await at.orders.lookUp("A-1");
  const { http, body } = answerOf(attempt, null);
  const { status, error } = body;
  const events = attempts.flatMap((each) => each.events);
  const late = events.filter(({ kind }) => kind === "goods-decided-late");
  return { http, status, error, late: late.map(({ detail }) => detail), attempt };
}

export const uncharged = { http: 200, status: "Cancelled" } as const;
export const noGoods = { code: "GOODS_NOT_DELIVERED", charged: "no", retry: "safe" };
export const mayBeOut = {
  code: "DELIVERY_UNCONFIRMED",
  message: errorTable.DELIVERY_UNCONFIRMED.meaning,
  charged: "no",
  retry: "never",
};

/** A sale whose line is lost with the decision; the terminal does not tell what it stored. */
export async function broken() {
  const at = await approved((_decision, resolve) => resolve(lost("line broken")));
  at.terminal.last = { kind: "not-told", why: "bare completion" };
  return at;
}

/** Reports about the goods when the terminal reports again that it has reversed the sale. */
export async function deliverAfterProof(at: House, delivered: boolean) {
  at.terminal.last = { kind: "transaction", report: reversal };
  const answer = deliver(at, delivered);
  answer.catch(() => undefined);
  await at.clock.advance(225_000);
  return answer;
}

export const raised = (at: House) =>
  alarms(at).filter((name) => name === "delivered-without-charge");
