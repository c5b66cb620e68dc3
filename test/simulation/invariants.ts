import { referenceOf } from "../../src/tp-manager/attempts/reference-policy.ts";
import type { TransactionReport } from "../../src/tp-manager/terminal/terminal.ts";
import { defaultSettings } from "../support/house/payment-house.ts";
import { ByIdDevice } from "./by-id/by-id-device.ts";
import type { End } from "./end.ts";
import { mayStayUnknown, nextSaleWithinMs } from "./evidence.ts";
import { notTheFold } from "./fold-invariant.ts";
import type { KioskAnswer } from "./kiosk.ts";
import { OneWayDevice } from "./one-way/one-way-device.ts";
import {
  chargedAfterReturn,
  reversedAfterReturn,
  untoldReturns,
  untoldTwice,
} from "./return-invariants.ts";
import { NEXT_SALE, type World } from "./world.ts";

/** A sentence that was not true in a run. */
export interface Violation {
  readonly invariant: string;
  readonly what: string;
}

/**
 * Every promise about the money, each a sentence with its check. What only the moment shows is seen
 * by the world itself: write-ahead, evidence before ACK, evidence before the next sale
 * (docs/rules/05-evidence.md), broken invariants.
 */
const invariants: ReadonlyArray<{
  readonly sentence: string;
  readonly broken: (end: End) => string[];
}> = [
  { sentence: "the state of an attempt is the fold of its events", broken: notTheFold },
  { sentence: "no order is charged twice unless a reversal stands between", broken: chargedTwice },
  { sentence: "an order answered not-charged is not charged", broken: falseNotCharged },
  { sentence: "an order answered charged is charged", broken: falseCharged },
  {
    sentence: "an answer never contradicts an earlier one (docs/rules/08-finished.md)",
    broken: contradictions,
  },
  { sentence: "what the terminal can prove does not stay unknown", broken: needlesslyUnknown },
  { sentence: "a charged order reaches the gateway once faults stop", broken: notAtGateway },
  {
    sentence: "only charged orders reach the gateway (docs/rules/09-handoff.md)",
    broken: wronglyAtGateway,
  },
  { sentence: "an order reaches the gateway twice only after an ambiguous try", broken: sentTwice },
  {
    sentence: "a sale that no order asked for is reported truly (docs/rules/04-approval.md)",
    broken: falselyUnmatched,
  },
  {
    sentence: "a sale that a terminal hides is reported as a difference (docs/rules/18-totals.md)",
    broken: untoldHidden,
  },
  {
    sentence: "money that went back at the gateway shows as returned (docs/rules/08-finished.md)",
    broken: untoldReturns,
  },
  {
    sentence: "an order whose money went back at the gateway is never charged again",
    broken: chargedAfterReturn,
  },
  {
    sentence: "no reversal begins of what is known to go back (docs/rules/07-returns.md)",
    broken: reversedAfterReturn,
  },
  { sentence: "money that went back both ways raises returned-twice", broken: untoldTwice },
  { sentence: "every request ends within its limit", broken: lateAnswers },
  { sentence: "no state machine is left waiting", broken: leftWaiting },
  { sentence: "a next sale is possible again within its stated time", broken: noNextSale },
];

export function violations(end: End): Violation[] {
  const later = invariants.flatMap(({ sentence, broken }) =>
    broken(end).map((what) => ({ invariant: sentence, what })),
  );
  return [...end.world.sightings, ...later];
}

function chargedTwice({ world, orders }: End): string[] {
  return known(world, orders).flatMap((order) => {
    const open = new Map<number, number>();
    const wrong: string[] = [];
    for (const { kind, sale, amountMinor, atMs } of world.bank.movements) {
      if (world.bank.movements.find((each) => each.sale === sale)?.order !== order) continue;
      const left = (open.get(sale) ?? 0) + (kind === "charge" ? amountMinor : -amountMinor);
      open.set(sale, left);
      const charged = [...open.values()].filter((value) => value > 0).length;
      if (kind === "charge" && charged > 1) wrong.push(`${order}: charged again at ${atMs}`);
    }
    return wrong;
  });
}

function falseNotCharged({ world }: End): string[] {
  return world.kiosk.answers
    .filter(({ charged, order }) => charged === "no" && order !== "")
    .filter(({ order }) => known(world, [order]).length > 0)
    .filter(({ order, atMs }) => world.bank.balance(order, atMs - 1) !== 0)
    .filter(({ order, atMs }) => !isReturned(world, order, atMs))
    .map((answer) => `${sentence(answer)}, but the bank has ${world.bank.balance(answer.order)}`);
}

/** All of it went back at the gateway: that is a finished order (docs/rules/08-finished.md). */
function isReturned({ gateway }: World, order: string, atMs: number): boolean {
  return (gateway.account?.whollyReturnedMs(order) ?? Number.POSITIVE_INFINITY) <= atMs;
}

/** Orders whose truth can still be found out by asking terminal, databases or gateway. */
function known(world: World, orders: readonly string[]): readonly string[] {
  return orders.filter((order) => !world.unknowable.has(order) && !world.isHidden(order));
}

/**
 * The totals or a missing number show it; else the end of day could not be compared, or does not
 * have the sale: the terminal had closed it and reported its totals to nobody
 * (docs/rules/18-totals.md).
 */
function untoldHidden({ world, found }: End): string[] {
  const { hiddenSales, device, bank, tpManager, log } = world;
  // A terminal that was taken away closes nothing any more.
  const denied = hiddenSales
    .filter((sale) => device.hiddenSales.has(sale) && !device.unseenSales.has(sale))
    .map((sale) => bank.orderOf(sale) ?? "")
    .filter((order) => !["Success", "Unknown"].includes(found.get(order)?.status ?? "Unknown"));
  const isReported = log.lines.some((line) =>
    /terminal-difference|receipt-number-missing/.test(line),
  );
  const days = tpManager?.journal.reconciliations.list(100, null) ?? [];
  const isVain = days.some(({ body }) => {
    return body.kind === "end-of-day" && body.terminal.result === "not-comparable";
  });
  return isReported || isVain ? [] : denied.map((order) => `${order}: kept, denied and untold`);
}

function falseCharged({ world, found }: End): string[] {
  return [...world.kiosk.answers, ...found.values()]
    .filter(({ status, charged }) => status === "Success" || charged === "yes")
    .filter(({ order }) => known(world, [order]).length > 0)
    .filter(({ order, amountMinor }) => {
      const balance = world.bank.balance(order);
      const returned = world.bank.movements.some((each) => each.order === order && each.asked);
      return !(returned && balance === 0) && balance !== (amountMinor ?? (balance || -1));
    })
    .map((answer) => `${sentence(answer)}, but the bank has ${world.bank.balance(answer.order)}`);
}

const later: Readonly<Record<KioskAnswer["status"], readonly KioskAnswer["status"][]>> = {
  Unknown: ["Unknown", "Approved", "Success", "Declined", "Cancelled", "Failed", "Reversed"],
  Approved: ["Approved", "Unknown", "Success", "Cancelled", "Failed", "Reversed"],
  Success: ["Success", "Reversed", "Unknown"],
  Reversed: ["Reversed"],
  Declined: ["Declined"],
  Cancelled: ["Cancelled"],
  Failed: ["Failed"],
};

/**
 * A finished answer may change when the terminal holds a sale after all (docs/rules/19-late.md).
 */
function isFoundLate({ tpManager }: World, { transactionId, status }: KioskAnswer): boolean {
  if (transactionId === null) return false;
  const kinds = (tpManager?.journal.attempts.events(transactionId) ?? []).map(({ kind }) => kind);
  const doubted = kinds.indexOf("doubted-late");
  // A person has found that there was no charge after all.
  const isSettled = doubted >= 0 && kinds.lastIndexOf("settled-by-operator") > doubted;
  const found = ["Success", "Unknown", ...(isSettled ? ["Failed"] : [])];
  return (doubted >= 0 || kinds.includes("charged-late")) && found.includes(status);
}

function contradictions({ world, orders, found }: End): string[] {
  // An order of which a part was lost may be answered otherwise than before.
  const whole = orders.filter((order) => !world.lost.changed.has(order));
  return whole.flatMap((order) => {
    const wrong: string[] = [];
    let last: KioskAnswer | undefined;
    let charged: KioskAnswer | undefined;
    const said = [...world.kiosk.answers, ...found.values()]
      .filter((answer) => answer.order === order && answer.transactionId !== null)
      .sort((a, b) => a.atMs - b.atMs);
    for (const answer of said) {
      const same = last?.transactionId === answer.transactionId;
      const finished = charged && !["Success", "Reversed", "Unknown"].includes(answer.status);
      const other = last && !same && ["Success", "Reversed"].includes(last.status);
      const isLate = isFoundLate(world, answer);
      const wrongly = last && same && !isLate && !later[last.status].includes(answer.status);
      if (finished || other || wrongly) {
        wrong.push(`${last ? sentence(last) : ""} and then ${sentence(answer)}`);
      }
      last = answer;
      if (answer.status === "Success") charged = answer;
    }
    return wrong;
  });
}

function needlesslyUnknown(end: End): string[] {
  const { plan, world, orders, found } = end;
  const { journal, matcher } = world.tpManager ?? {};
  const attempts = journal?.attempts;
  return orders
    .filter((order) => found.get(order)?.status === "Unknown")
    .filter((order) => {
      const { baseline, state, transactionId = "" } = attempts?.decisive(order) ?? {};
      if (world.device instanceof ByIdDevice) {
        return state?.phase === "in-doubt" && world.device.canProve(referenceOf(transactionId));
      }
      if (world.device instanceof OneWayDevice) {
        const isReported = world.device.hasReported(order, referenceOf(transactionId));
        // Turned away, and then approved by a result that names no order
        // (docs/rules/25-one-way.md).
        if (plan.oneWay?.echoes === false && state && "told" in state && state.told) return false;
        return isReported && !mayBeAnothers(order, end) && !wasReportedBefore(transactionId, end);
      }
      // The end of a reversal was lost, and the terminal has shown no reversal yet: that it shows
      // the sale proves nothing (the assumption stores-reversals).
      const isReversal = state?.phase === "reversal-in-doubt";
      if (isReversal && !matcher?.learned(state.baseline.identity).has("stores-reversals"))
        return false;
      // A sale that stands is one that the terminal can show.
      const unsold = world.bank.balance(order) === 0 ? state : undefined;
      return !mayStayUnknown(plan, world.struck, baseline?.last.kind, unsold);
    })
    .map((order) => `${order} is unknown; the bank has ${world.bank.balance(order)}`);
}

/**
 * A result that names no order, and comes when its payment has ended, is of the only order in doubt
 * of its amount; with two of them it is nobody's (docs/rules/25-one-way.md).
 */
function mayBeAnothers(order: string, { plan, orders, found }: End): boolean {
  if (plan.oneWay?.echoes !== false) return false;
  const amountsOf = (one: string): number[] =>
    plan.steps.flatMap((step) =>
      step.do === "pay" && step.order === one ? [step.amountMinor] : [],
    );
  return orders
    .filter((other) => other !== order && found.get(other)?.status === "Unknown")
    .some((other) => amountsOf(other).some((amount) => amountsOf(order).includes(amount)));
}

/**
 * A result that names no order, word for word the last that came before its payment, may be that
 * one again: it is nobody's (docs/rules/25-one-way.md).
 */
function wasReportedBefore(transactionId: string, { plan, world, orders }: End): boolean {
  const { attempts, terminalLog } = world.tpManager?.journal ?? {};
  if (plan.oneWay?.echoes !== false || !attempts || !terminalLog) return false;
  const earlier = orders
    .flatMap((order) => attempts.ofOrder(order))
    .filter((attempt) => attempt.transactionId !== transactionId)
    .flatMap((attempt) => attempts.events(attempt.transactionId))
    .map(({ detail }) => (detail as { report?: TransactionReport }).report);
  const unmatched = terminalLog.unmatched(100).map(({ report }) => report);
  const isSame = (answer: TransactionReport | undefined, again: TransactionReport): boolean =>
    answer !== undefined &&
    (["good", "resultCode", "maskedPan", "authorisationNumber"] as const).every(
      (field) => answer[field] === again[field],
    );
  return unmatched.some((again, i) =>
    [...earlier, ...unmatched.slice(i + 1)].some((answer) => isSame(answer, again)),
  );
}

function notAtGateway({ world, found }: End): string[] {
  return [...found.values()]
    .filter(({ status }) => status === "Success")
    .filter(({ order, transactionId, amountMinor }) => {
      const { orders } = world.gateway;
      const sent = orders.find((each) => each.transactionId === transactionId);
      // The attempt that paid is in no database any more: its transaction is not sent once more.
      const lost = world.lost.changed.has(order)
        ? orders.find((each) => each.orderId === order)
        : undefined;
      return (sent ?? lost)?.amountMinor !== amountMinor;
    })
    .map(sentence);
}

function wronglyAtGateway({ world }: End): string[] {
  return world.gateway.orders
    .filter(({ orderId, amountMinor }) => {
      const { movements } = world.bank;
      const charges = movements.filter(({ order, kind }) => order === orderId && kind === "charge");
      return !charges.some((charge) => charge.amountMinor >= amountMinor);
    })
    .map(({ orderId }) => orderId);
}

function sentTwice({ world }: End): string[] {
  const { orders } = world.gateway;
  return [...new Set(orders.map(({ transactionId }) => transactionId))].flatMap((id) => {
    const times = orders.filter(({ transactionId }) => transactionId === id).length;
    const tries = world.supervisor?.store.attempts(id) ?? [];
    const ambiguous = tries.filter((each) => each.ambiguous).length;
    return times > 1 + ambiguous ? [`${id} was sent ${times} times`] : [];
  });
}

/** Kept ones are never called gone, returned ones never kept, and nobody waits for ever. */
function falselyUnmatched({ world }: End): string[] {
  return (world.tpManager?.journal.terminalLog.unmatched(100) ?? []).flatMap(
    ({ report, finding }) => {
      const order = world.unmatched.get(report.traceNumber ?? "");
      if (order === undefined) return isStanding(world, report) ? [] : notStored(finding);
      const kept = world.bank.balance(order) > 0;
      const possible = kept ? ["held", "unclear"] : ["gone", "reversed", "unclear"];
      return possible.includes(finding) ? [] : [`${order} is ${finding}, kept: ${kept}`];
    },
  );
}

/** A sale that was never reported is found in the terminal's storage, perhaps its part. */
function isStanding({ bank }: World, { amountMinor }: TransactionReport): boolean {
  return bank.movements.some(({ kind, sale, amountMinor: charged }) => {
    const left = bank.balanceOfSale(sale);
    return kind === "charge" && left > 0 && (charged === amountMinor || left === amountMinor);
  });
}

const notStored = (finding: string): string[] =>
  finding === "held" ? ["held: neither reported nor charged"] : [];

function lateAnswers({ world }: End): string[] {
  const { prepareMs, paymentTimeoutMs, graceMs, gatewayWaitMs } = defaultSettings;
  // A repeated order may first be recovered and then be paid.
  const recoveryMs = paymentTimeoutMs + graceMs;
  const limitMs = recoveryMs + prepareMs + paymentTimeoutMs + graceMs + gatewayWaitMs + 1_000;
  const late = world.kiosk.answers
    .filter(({ atMs, askedAtMs, call }) => call !== "end-of-day" && atMs - askedAtMs > limitMs)
    .map(sentence);
  const never = world.kiosk.asked
    .filter(({ answered, life }) => !answered && life.alive)
    .map(({ call, order, askedAtMs }) => `${call} ${order}, asked at ${askedAtMs}, never answered`);
  return [...late, ...never];
}

function leftWaiting({ world, found }: End): string[] {
  const { arbiter, handOff, journal, life } = world.tpManager ?? {};
  if (!arbiter || !journal || !life || !handOff) return ["tp-manager does not run"];
  const wrong: string[] = [];
  const { current } = arbiter.lease;
  if (current) wrong.push(`a ${current.what} still has the terminal`);
  if (arbiter.inquiries.blockedBy) wrong.push("recovery never ended");
  if (journal.handOffs.countPendingHandOffs() > 0) wrong.push("something is not handed off");
  for (const { status, code, order } of found.values()) {
    if (code === "PAYMENT_RUNNING") wrong.push(`${order} is ${status} although nothing runs`);
  }
  // A journal gap lasts a day; until it is closed no resync is reported as complete.
  const lasting = journal.gaps.open() ? "|resync|age of the gap" : "";
  const polls = "|return poll|open return poll|unknown orders";
  const allowed = `^(ipc limit|end of day|recovery at another terminal${polls}${lasting})`;
  const waiting = [...life.timers].filter((name) => !new RegExp(allowed).test(name));
  if (waiting.length > 0) wrong.push(`timers run: ${waiting.join(", ")}`);
  return wrong;
}

function noNextSale({ world, plan }: End): string[] {
  const { nextSaleAfterMs } = world;
  const limitMs = nextSaleWithinMs(plan, world.struck);
  if (nextSaleAfterMs !== null && nextSaleAfterMs <= limitMs) return [];
  const last = world.kiosk.answers.findLast(({ order }) => order === NEXT_SALE);
  return [`${nextSaleAfterMs ?? "never"} for ${limitMs} ms: ${last ? sentence(last) : "untold"}`];
}

function sentence({ call, order, atMs, status, code, charged }: KioskAnswer): string {
  const said = code === null ? status : `${status} ${code}`;
  return `${call} ${order} at ${atMs} was answered ${said}, charged ${charged}`;
}
