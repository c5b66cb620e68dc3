import { isDeepStrictEqual } from "node:util";
import { BrokenInvariant } from "../../shared/invariant.ts";
import type { JournalAudit } from "../../shared/ipc/contract.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { type AttemptEvent, eventOf, fold, nothingKnown } from "./attempt-event.ts";
import auditRules from "./audit-rules-en.json" with { type: "json" };
import { compareReports, namesTrace } from "./comparison.ts";
import {
  type AttemptState,
  type AttemptStep,
  begun,
  currencyNumericOf,
  isCharged,
  isNotCharged,
  isWithheld,
  type PaymentRequest,
  saleOf,
} from "./payment.ts";
import { judgeReport } from "./payment-machine.ts";
import { isInDoubt, phaseTable } from "./phase-table.ts";

/** The name of a rule; audit-rules-en.json has the sentence that describes its fault. */
export type AuditRule = keyof typeof auditRules;
export type AuditFault = JournalAudit<AuditRule>["faults"][number];

interface AuditedAttempt {
  readonly transactionId: string;
  readonly orderId: string;
  readonly phase: string;
  readonly request: PaymentRequest;
  readonly state: AttemptState;
  /** Whether the attempt has a write-ahead record, so that its command may have been sent. */
  readonly wasBegun: boolean;
  /** The amount handed off to the supervisor, in minor units; null: nothing was handed off. */
  readonly handedMinor: number | null;
  /** Whether the supervisor knows, or will know, that this transaction must not be sent. */
  readonly isWithdrawn: boolean;
  /** Returns the transaction handed off or imported. Called only if an event's check needs it. */
  readonly handedOff: () => Transaction | null;
  readonly steps: readonly AttemptStep[];
}

/**
 * Checks what the journal has about one attempt against the state machines and the money rules
 * (docs/design.md 9.6). Returns the faults; `unknown` has the kinds of events that it cannot check.
 * Pure. Older versions may have been more careful than the present machines, so an attempt that
 * they left in doubt where the machines are certain is no fault.
 */
export function auditAttempt(attempt: AuditedAttempt) {
  const faults: AuditFault[] = [];
  const report: Report = (rule, says) => faults.push(faultOf(rule, attempt, says));
  if (attempt.state.phase !== attempt.phase) report("phase-column");
  const { evidence, unknown } = replay(attempt, report);
  if (unknown.length === 0) checkProof(attempt, evidence, report);
  checkAmounts(attempt, report);
  checkHandOff(attempt, report);
  return { faults, unknown };
}

/** Reports a fault. Without `says`, the rule's own sentence describes the fault. */
type Report = (rule: AuditRule, says?: string) => void;

/** What the events of an attempt prove about whether money moved. */
interface Evidence {
  /** Whether the terminal's last report was good and agreed with the request. */
  hasAgreed: boolean;
  /** Whether our ACK of an agreeing report provably arrived and no decision withheld the goods. */
  wasCommitted: boolean;
  /** Whether the terminal reported the command's completion after an agreeing report. */
  hadGoodEnd: boolean;
  /** What recovery last proved or an operator last settled; null when neither has happened. */
  proved: "charged" | "not-charged" | "reversed" | "not-reversed" | null;
  /** Whether the sale was imported from the supervisor, which only has sales that were charged. */
  wasImported: boolean;
}

function replay(attempt: AuditedAttempt, report: Report) {
  const { steps, state: final, request } = attempt;
  const evidence: Evidence = {
    hasAgreed: false,
    wasCommitted: false,
    hadGoodEnd: false,
    proved: null,
    wasImported: false,
  };
  const unknown: string[] = [];
  const owner = { ...attempt, final };
  // An attempt without a write-ahead record was imported, or failed before its command.
  let state = attempt.wasBegun ? begun : isNotCharged(final) ? final : null;
  let before: AttemptEvent | undefined;
  let isOld = false;
  for (const step of steps) {
    const event = eventOf(step, owner);
    if (event === undefined) unknown.push(step.kind);
    if (event === undefined || event.input === "note") continue;
    isOld ||= step.input === undefined || "mayBeOut" in step.input;
    note(evidence, event, state, request);
    const next = advanced(state, event, isOld ? before : undefined);
    if (next === undefined) {
      const isTwice = event.input === "reverse" || event.input === "end";
      const says = `${step.kind} although the attempt was ${state?.phase ?? "not known"}`;
      report(isTwice ? "command-twice" : "illegal-step", says);
      return { evidence, unknown };
    }
    state = next;
    before = event;
  }
  const compare = isOld ? otherEnd : otherState;
  const says = unknown.length === 0 ? compare(state, final, before) : undefined;
  if (says) report("other-end", says);
  return { evidence, unknown };
}

/** Returns the state after `event`; undefined if the state machines do not allow the event. */
function advanced(
  state: AttemptState | null,
  event: AttemptEvent,
  before: AttemptEvent | undefined,
): AttemptState | undefined {
  try {
    return fold([event], state);
  } catch (error) {
    if (!(error instanceof BrokenInvariant)) throw error;
    const inDoubt = state && before?.input === "end" ? inDoubtInstead(state) : undefined;
    return inDoubt && advanced(inDoubt, event, undefined);
  }
}

/** Returns the state in doubt that an older version may have chosen instead of this state. */
function inDoubtInstead(state: AttemptState): AttemptState {
  const sale = saleOf(state);
  const why = "an older version doubted it";
  return sale && !isCharged(state)
    ? { phase: "reversal-in-doubt", sale, baseline: nothingKnown, last: null, why }
    : { phase: "in-doubt", why, last: null };
}

/** Returns how the stored state differs from the fold of the events; undefined: not at all. */
function otherState(state: AttemptState | null, final: AttemptState): string | undefined {
  // An older version, which does not know the newer code, ends an attempt without it.
  const isOlder = isNotCharged(final) && final.outcome.newer === undefined;
  const isNewer = state && isNotCharged(state) && state.outcome.newer !== undefined;
  const folded = JSON.stringify(isOlder && isNewer ? { ...state, outcome: final.outcome } : state);
  // Two states whose JSON texts differ can be equal: the order of their members does not matter.
  if (folded === JSON.stringify(final)) return undefined;
  if (isDeepStrictEqual(JSON.parse(folded), final)) return undefined;
  return `the steps lead to another ${state?.phase} than the journal's ${final.phase}`;
}

/** Like {@link otherState}, but compares phase and sale only: older versions stored less. */
function otherEnd(
  state: AttemptState | null,
  final: AttemptState,
  before: AttemptEvent | undefined,
): string | undefined {
  if (state?.phase !== final.phase && !(before?.input === "end" && isInDoubt(final))) {
    return `the steps lead to ${state?.phase}, the journal says ${final.phase}`;
  }
  const [kept, folded] = [saleOf(final)?.report, state && saleOf(state)?.report];
  const isSale = kept?.receiptNumber === folded?.receiptNumber;
  return isSale && kept?.traceNumber === folded?.traceNumber
    ? undefined
    : "another sale than the one of its steps";
}

function note(
  evidence: Evidence,
  event: AttemptEvent,
  state: AttemptState | null,
  { amountMinor, currency }: PaymentRequest,
): void {
  const goods = state && "goods" in state ? state.goods : null;
  switch (event.input) {
    case "report":
    case "hold": {
      if (!state || saleOf(state)) return;
      const decision = goods?.decision;
      const part = decision?.goods === "partly-issued" ? decision.amountMinor : amountMinor;
      const order = { amountMinor: part, currencyNumeric: currency.numeric };
      evidence.hasAgreed = judgeReport(order, event.report) === "agrees";
      if (!evidence.hasAgreed && isWithheld(goods)) evidence.wasCommitted = false;
      return;
    }
    case "acknowledged":
      evidence.wasCommitted ||= evidence.hasAgreed && state !== null && !isWithheld(goods);
      return;
    case "end":
      evidence.hadGoodEnd ||= evidence.hasAgreed && event.end.end === "completed";
      return;
    case "imported":
      evidence.wasImported = true;
      return;
    default:
      evidence.proved = provedBy(event) ?? evidence.proved;
  }
}

function provedBy(event: AttemptEvent): Evidence["proved"] {
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
    case "late-result":
      if (event.judgement === "agrees") return "charged";
      return event.judgement === "not-good" ? "not-charged" : null;
    case "settled":
      return event.outcome;
    default:
      return null;
  }
}

function checkProof({ state, wasBegun }: AuditedAttempt, evidence: Evidence, report: Report): void {
  const { hasAgreed, hadGoodEnd, proved, wasCommitted, wasImported } = evidence;
  const sale = saleOf(state);
  if (sale && wasBegun && !wasImported) {
    const isProved = sale.by === "payment" ? hasAgreed && hadGoodEnd : proved !== null;
    if (!isProved) report("charged-without-proof");
  }
  if (isNotCharged(state) && wasCommitted && proved !== "not-charged") {
    report("not-charged-after-approval");
  }
}

function checkAmounts({ state, request, steps }: AuditedAttempt, report: Report): void {
  const sale = saleOf(state);
  if (!sale) return;
  const { amountMinor } = sale.report;
  const parts = steps
    .filter(({ kind }) => kind === "goods-decided")
    .map(({ detail }) => detail["amountMinor"]);
  const isAsked = amountMinor === request.amountMinor || parts.includes(amountMinor);
  const isCurrency = currencyNumericOf(sale.report) === request.currency.numeric;
  if (sale.by !== "operator" && !(isAsked && isCurrency)) report("wrong-amount");
  const { charged } = phaseTable[state.phase];
  if (charged !== "no" || !("report" in state)) return;
  const reversal = state.report;
  const differs = <T>(a: T | null, b: T | null): boolean => a !== null && b !== null && a !== b;
  const traces = [reversal.originalTrace, sale.report.traceNumber] as const;
  const isAnother = !traces.includes(null) && !namesTrace(...traces);
  if (differs(amountMinor, reversal.amountMinor) || isAnother) report("reversed-amount");
}

function checkHandOff(attempt: AuditedAttempt, report: Report): void {
  const { state, request, handedMinor, isWithdrawn } = attempt;
  const sale = saleOf(state);
  if (!sale) {
    if (handedMinor !== null && !isWithdrawn) {
      report("hand-off-wrong", "handed off without having been charged");
    }
    return;
  }
  if (handedMinor === null) report("hand-off-missing");
  else if (handedMinor !== (sale.report.amountMinor ?? request.amountMinor)) {
    report("hand-off-wrong", "handed off with another amount than was charged");
  } else if (isWithdrawn && phaseTable[state.phase].charged !== "no") {
    report("hand-off-wrong", "charged, but its hand-off was withdrawn");
  }
}

export type AuditedSale = Pick<AuditedAttempt, "orderId" | "transactionId" | "state">;

/** Returns the faults that show only in several attempts of one order together. */
export function auditOrder(attempts: readonly AuditedSale[]): AuditFault[] {
  const [, ...others] = attempts.filter(({ state }) => saleOf(state) !== undefined);
  return others.map((attempt) => faultOf("charged-twice", attempt));
}

/** Returns the faults of charged attempts that name the same sale of the terminal twice. */
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
