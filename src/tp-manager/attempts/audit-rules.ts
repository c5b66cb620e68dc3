import { isDeepStrictEqual } from "node:util";
import { BrokenInvariant } from "../../shared/invariant.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { compareReports } from "../matching/comparison.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import { type AttemptEvent, eventOf, fold } from "./attempt-event.ts";
import {
  type AttemptState,
  type AttemptStep,
  begun,
  isCharged,
  isNotCharged,
  type PaymentRequest,
  saleOf,
} from "./payment.ts";
import { judgeReport } from "./payment-machine.ts";
import { isInDoubt, phaseTable } from "./phase-table.ts";
import { nothingKnown } from "./step-inputs.ts";

/**
 * Checks what the journal says about one attempt against the machines and the money rules
 * (docs/design.md 9.6). Pure. Older versions may have been more careful than the present machines:
 * a doubt where these see none is no fault.
 */

/** The rules, each with the sentence that describes a fault. */
export const auditRules = {
  "illegal-step": "a step that its phase does not have",
  "other-end": "the steps lead to another end than the journal has",
  "charged-without-proof": "charged without an agreeing report and a good end, and without proof",
  "not-charged-after-approval": "not charged after an approval that was acknowledged, no proof",
  "wrong-amount": "charged with another amount or currency than was asked for",
  "reversed-amount": "reversed with another amount, or another sale, than was charged",
  "command-twice": "a financial command of it was sent twice",
  "charged-twice": "two attempts of one order were charged",
  "same-sale-twice": "one sale of the terminal stands for two attempts",
  "hand-off-missing": "charged, and no row hands it over",
  "hand-off-wrong": "handed over with another amount, or without having been charged",
  "phase-column": "the searched phase is not that of the state",
  "card-number": "a card number that is not masked",
  unreadable: "a record that cannot be read",
} as const;
export type AuditRule = keyof typeof auditRules;

export interface AuditFault {
  readonly rule: AuditRule;
  readonly orderId: string;
  readonly transactionId: string;
  readonly says: string;
}

/** One attempt as the journal keeps it. */
interface AuditedAttempt {
  readonly transactionId: string;
  readonly orderId: string;
  readonly phase: string;
  readonly request: PaymentRequest;
  readonly state: AttemptState;
  /** A write-ahead record: the command may have left. */
  readonly wasBegun: boolean;
  /** null: no row hands it over. */
  readonly handedMinor: number | null;
  /** The supervisor knows, or will, that it is not to be sent. */
  readonly isWithdrawn: boolean;
  /** The transaction that was handed off or imported, read only when a step needs it. */
  readonly handedOver: () => Transaction | null;
  readonly steps: readonly AttemptStep[];
}

/** `unknown`: kinds of steps of a newer version; such an attempt is not replayed. */
export function auditAttempt(attempt: AuditedAttempt) {
  const { state, phase } = attempt;
  const faults: AuditFault[] = [];
  const tell = (rule: AuditRule, says: string = auditRules[rule]): void => {
    faults.push(faultOf(rule, attempt, says));
  };
  if (state.phase !== phase) tell("phase-column");
  const replayed = replay(attempt);
  for (const fault of replayed.faults) tell(...fault);
  if (replayed.unknown.length === 0) checkProof(attempt, replayed.facts, tell);
  checkAmounts(attempt, tell);
  checkHandOff(attempt, tell);
  return { faults, unknown: replayed.unknown };
}

type Tell = (rule: AuditRule, says?: string) => void;

/** Facts that follow from the steps. */
interface Facts {
  /** The last report that was good for exactly what was asked for. */
  agreed: TransactionReport | null;
  /** Its acknowledgement has provably arrived, and no goods were withheld. */
  wasCommitted: boolean;
  /** A good end after it. */
  hadGoodEnd: boolean;
  /** The last thing that was proved or settled. */
  proved: "charged" | "not-charged" | "reversed" | "not-reversed" | null;
  /** The supervisor had the sale: proof as good as its own report and end. */
  wasTakenOver: boolean;
}

interface Replay {
  readonly faults: [AuditRule, string?][];
  readonly unknown: string[];
  readonly facts: Facts;
}

function replay(attempt: AuditedAttempt): Replay {
  const { steps, state: final, request } = attempt;
  const facts: Facts = {
    agreed: null,
    wasCommitted: false,
    hadGoodEnd: false,
    proved: null,
    wasTakenOver: false,
  };
  const replayed: Replay = { faults: [], unknown: [], facts };
  const place = { ...attempt, final };
  let state = firstOf(attempt);
  let before: AttemptEvent | undefined;
  let isOld = false;
  for (const step of steps) {
    const event = eventOf(step, place);
    if (event === undefined) {
      replayed.unknown.push(step.kind);
      continue;
    }
    if (event.input === "note") continue;
    isOld ||= step.input === undefined;
    note(facts, event, state, request);
    const next = advanced(state, event, isOld ? before : undefined);
    if (next === undefined) {
      const twice = event.input === "reverse" || event.input === "end";
      const says = `${step.kind} although the attempt was ${state?.phase ?? "not known"}`;
      replayed.faults.push([twice ? "command-twice" : "illegal-step", says]);
      return replayed;
    }
    state = next;
    before = event;
  }
  if (replayed.unknown.length > 0) return replayed;
  const says = isOld ? otherEnd(state, final, before) : otherState(state, final);
  if (says) replayed.faults.push(["other-end", says]);
  return replayed;
}

/** The record that the steps follow; null: there is none, as the attempt was taken over. */
function firstOf({ wasBegun, state }: AuditedAttempt): AttemptState | null {
  if (wasBegun) return begun;
  return isNotCharged(state) ? state : null;
}

/** undefined: the machines have no such step. */
function advanced(
  state: AttemptState | null,
  event: AttemptEvent,
  before: AttemptEvent | undefined,
): AttemptState | undefined {
  try {
    return fold([event], state);
  } catch (error) {
    if (!(error instanceof BrokenInvariant)) throw error;
    const doubted = state && before?.input === "end" ? doubtInstead(state) : undefined;
    return doubted && advanced(doubted, event, undefined);
  }
}

/** The doubt that an older version may have had at an end. */
function doubtInstead(state: AttemptState): AttemptState {
  const sale = saleOf(state);
  const why = "an older version doubted it";
  return sale && !isCharged(state)
    ? { phase: "reversal-in-doubt", sale, baseline: nothingKnown, last: null, why }
    : { phase: "in-doubt", why, last: null };
}

/** The state is what its events say, to the last member. */
function otherState(state: AttemptState | null, final: AttemptState): string | undefined {
  const told = JSON.stringify(state);
  // The order of members says nothing, but is nearly always the same.
  if (told === JSON.stringify(final)) return undefined;
  if (isDeepStrictEqual(JSON.parse(told), final)) return undefined;
  return `the steps lead to another ${state?.phase} than the journal's ${final.phase}`;
}

/** Older versions kept less of their steps, and may have doubted more at an end. */
function otherEnd(
  state: AttemptState | null,
  final: AttemptState,
  before: AttemptEvent | undefined,
): string | undefined {
  if (state?.phase !== final.phase && !(before?.input === "end" && isInDoubt(final))) {
    return `the steps lead to ${state?.phase}, the journal says ${final.phase}`;
  }
  const [kept, told] = [saleOf(final)?.report, state && saleOf(state)?.report];
  const isSale = kept?.receiptNumber === told?.receiptNumber;
  return isSale && kept?.traceNumber === told?.traceNumber
    ? undefined
    : "another sale than the one of its steps";
}

function note(
  facts: Facts,
  event: AttemptEvent,
  state: AttemptState | null,
  asked: PaymentRequest,
): void {
  const { input } = event;
  if (input === "report" || input === "hold") noteReport(facts, event.report, state, asked);
  if (input === "acknowledged" && facts.agreed && state && !isWithheld(state)) {
    facts.wasCommitted = true;
  }
  if (input === "end" && event.end.end === "completed" && facts.agreed) facts.hadGoodEnd = true;
  if (input === "taken-over") facts.wasTakenOver = true;
  facts.proved = provedBy(event) ?? facts.proved;
}

/** null: nothing was proved or settled. */
function provedBy(event: AttemptEvent): Facts["proved"] {
  switch (event.input) {
    case "proved-charged":
    case "found-charged":
      return "charged";
    case "proved-not-charged":
      return "not-charged";
    case "proved-reversed":
    case "found-reversed":
      return "reversed";
    case "proved-not-reversed":
      return "not-reversed";
    case "told-late":
      if (event.judgement === "agrees") return "charged";
      return event.judgement === "not-good" ? "not-charged" : null;
    case "settled":
      return event.outcome;
    default:
      return null;
  }
}

function noteReport(
  facts: Facts,
  report: TransactionReport,
  state: AttemptState | null,
  { amountMinor, currency }: PaymentRequest,
): void {
  if (!state || saleOf(state)) return;
  const part = partOf(state);
  const order = { amountMinor: part ?? amountMinor, currencyNumeric: currency.numeric };
  const agrees = judgeReport(order, report) === "agrees";
  facts.agreed = agrees ? report : null;
  if (!agrees && isWithheld(state)) facts.wasCommitted = false;
}

function partOf(state: AttemptState): number | null {
  const decision = "goods" in state ? state.goods?.decision : undefined;
  return decision?.goods === "partly-issued" ? decision.amountMinor : null;
}

/** No goods were said to have come out, so nothing of ours has committed the sale. */
function isWithheld(state: AttemptState): boolean {
  const goods = "goods" in state ? state.goods : null;
  return goods ? goods.decision === null || goods.decision.goods === "not-issued" : false;
}

function checkProof({ state, wasBegun }: AuditedAttempt, facts: Facts, tell: Tell): void {
  const { agreed, hadGoodEnd, proved, wasCommitted, wasTakenOver } = facts;
  const sale = saleOf(state);
  if (sale && wasBegun) {
    const ownProof = sale.by === "payment" ? agreed !== null && hadGoodEnd : proved !== null;
    const wasProved = ownProof || wasTakenOver;
    if (!wasProved) tell("charged-without-proof");
  }
  if (isNotCharged(state) && wasCommitted && proved !== "not-charged") {
    tell("not-charged-after-approval");
  }
}

function checkAmounts({ state, request, steps }: AuditedAttempt, tell: Tell): void {
  const sale = saleOf(state);
  if (!sale) return;
  const { amountMinor, currencyNumeric } = sale.report;
  const parts = steps
    .filter(({ kind }) => kind === "goods-decided")
    .map(({ detail }) => detail["amountMinor"]);
  const fits = amountMinor === request.amountMinor || parts.includes(amountMinor);
  const isCurrency = (currencyNumeric ?? EURO) === request.currency.numeric;
  if (sale.by !== "operator" && !(fits && isCurrency)) tell("wrong-amount");
  const { charged } = phaseTable[state.phase];
  if (charged === "no" && "report" in state) checkReversal(sale.report, state.report, tell);
}

const EURO = "978";

function checkReversal(sale: TransactionReport, reversal: TransactionReport, tell: Tell): void {
  const differs = <T>(a: T | null, b: T | null): boolean => a !== null && b !== null && a !== b;
  if (
    differs(sale.amountMinor, reversal.amountMinor) ||
    (reversal.originalTrace !== null && differs(sale.traceNumber, reversal.originalTrace))
  ) {
    tell("reversed-amount");
  }
}

function checkHandOff(attempt: AuditedAttempt, tell: Tell): void {
  const { state, request, handedMinor, isWithdrawn } = attempt;
  const sale = saleOf(state);
  if (!sale) {
    if (handedMinor !== null && !isWithdrawn) {
      tell("hand-off-wrong", "handed over without having been charged");
    }
    return;
  }
  if (handedMinor === null) tell("hand-off-missing");
  else if (handedMinor !== (sale.report.amountMinor ?? request.amountMinor)) {
    tell("hand-off-wrong", "handed over with another amount than was charged");
  }
}

/** Attempts of one order, or with one receipt, that cannot all be true. */
export type AuditedSale = Pick<AuditedAttempt, "orderId" | "transactionId" | "state">;

/** `attempts`: those of one order. */
export function auditOrder(attempts: readonly AuditedSale[]): AuditFault[] {
  const [, ...others] = attempts.filter(({ state }) => saleOf(state) !== undefined);
  return others.map((attempt) => faultOf("charged-twice", attempt));
}

/** `attempts`: charged ones with one receipt and trace number, which are given anew some day. */
export function auditSameNumbers(attempts: readonly AuditedSale[]): AuditFault[] {
  return attempts.flatMap((attempt, index) => {
    const sale = saleOf(attempt.state)?.report;
    const isAnothers = attempts.slice(0, index).some((other) => {
      const its = saleOf(other.state)?.report;
      return sale && its && compareReports(sale, its) === "same";
    });
    return isAnothers ? [faultOf("same-sale-twice", attempt)] : [];
  });
}

export function faultOf(
  rule: AuditRule,
  about: Pick<AuditFault, "orderId" | "transactionId">,
  says: string = auditRules[rule],
): AuditFault {
  return { rule, orderId: about.orderId, transactionId: about.transactionId, says };
}
