import { sleep } from "../../src/shared/time.ts";
import {
  type Baseline,
  type CancelAnswer,
  type LastTransaction,
  type PaymentEnd,
  type PaymentObserver,
  type PaymentOrder,
  type RecallOrder,
  type Recollection,
  type ReversalOrder,
  type Terminal,
  type TerminalState,
  type TerminalStatus,
  TerminalUnavailable,
  type TransactionReport,
} from "../../src/tp-manager/terminal/terminal.ts";
import { identityOf, takeBack } from "../explore/device.ts";
import { type Entry, notGood } from "../explore/entry-reports.ts";
import type { Life } from "../simulation/life.ts";
import { lost } from "../support/terminals/scripted-terminal.ts";
import type { Assumption } from "./assumptions.ts";
import type { Option } from "./chooser.ts";
import { recordOf, textOf } from "./records.ts";
import { WRONG_MINOR } from "./scope.ts";
import type { AnswerById, World } from "./world.ts";

const [ANSWER_MS, CARD_MS, WITHIN_LIMIT_MS, LIMIT_MS] = [100, 3_000, 100_000, 180_000];
const never = new Promise<never>(() => {});
const ready: TerminalStatus = { cr: "0", card: "0", call: "0", periph: "0", detail: "ready" };
const untold = { kind: "not-told", why: "it answers by id only" } as const;

/** The terminal's names of its transactions are unique for ever. */
const nameOf = (index: number): string => `sim.S${index}`;

const failures = {
  declined: { ...notGood, resultCode: "Refusal", resultText: "no money", reason: "declined" },
  cancelled: { ...notGood, resultCode: "Cancel", resultText: "cancelled", reason: "cancelled" },
  /** The bank had approved, and the terminal cancelled after that. */
  unclear: { ...notGood, resultCode: null, resultText: "approved", reason: null },
} as const satisfies Record<string, TransactionReport>;

/** A terminal that is asked about each command by its id: one life's driver for the device. */
export class ByIdTerminal implements Terminal {
  readonly capabilities = {
    paymentLimitMs: LIMIT_MS,
    lastTransaction: false,
    recalls: true as const,
    cannotRefuse: true as const,
    vending: false,
    partialIssue: false,
  };
  readonly #world: World;
  readonly #life: Life;

  constructor(world: World, life: Life) {
    this.#world = world;
    this.#life = life;
  }

  get state(): TerminalState {
    const { isAway, device } = this.#world;
    return {
      link: isAway ? "disconnected" : "connected",
      linkProblem: isAway ? "no line" : null,
      identity: identityOf(device),
      status: ready,
      busy: false,
      demands: [],
    };
  }

  keepEvidence(): void {}

  start(): void {}

  close(): Promise<void> {
    return Promise.resolve();
  }

  subscribe(): () => void {
    return () => {};
  }

  async prepare(signal: AbortSignal): Promise<Baseline> {
    await this.#answers(signal);
    const identity = identityOf(this.#world.device);
    return { identity, last: untold, clockOffsetMs: null, registerId: "kiosk" };
  }

  async check(signal: AbortSignal): Promise<TerminalStatus> {
    await this.#answers(signal);
    return ready;
  }

  lastTransaction(): Promise<LastTransaction> {
    return Promise.resolve(untold);
  }

  cancel(): Promise<CancelAnswer> {
    return Promise.resolve({ answer: "taken" });
  }

  abort({ reference }: RecallOrder): Promise<CancelAnswer> {
    const { answers, chooser, recorder } = this.#world;
    recorder.known(`-> abort of ${reference}`);
    const running = answers.get(reference);
    if (running?.says === "runs") {
      const way = chooser.choose("the abort", ["ends it", "comes too late"]);
      if (way === "ends it")
        answers.set(reference, { says: "failure", report: failures.cancelled });
    }
    return Promise.resolve({ answer: "taken" });
  }

  async pay(order: PaymentOrder, observer: PaymentObserver): Promise<PaymentEnd> {
    const { chooser, answers, order: orderId } = this.#world;
    const { reference = "" } = order;
    if (this.#world.isAway) return { end: "not-sent", code: "link", text: "no line" };
    if ([...answers.values()].some(({ says }) => says === "runs")) {
      return this.#heard({ end: "refused", code: "Busy", text: "busy", reason: "busy" });
    }
    this.#world.leaves("payment");
    const way = chooser.choose(`the payment of ${orderId}`, ways);
    await this.#wait(CARD_MS);
    if (way.startsWith("the kiosk cancels")) this.#world.cancels();
    const [how = "", what = way] = way.split(", ");
    const isDenied = how.startsWith("the terminal says it was cancelled");
    const answer = this.#becomes(reference, what, isDenied ? "abort-final" : null);
    await this.#wait(CARD_MS);
    if (how === "tp-manager is killed") {
      this.#world.kill();
      return await never;
    }
    if (how === "the answer is lost" || !answer) return this.#heard(lost("line"));
    if (isDenied) {
      return this.#reports(null, failures.cancelled, observer);
    }
    return this.#reports(answer.charge ?? null, answer.report, observer);
  }

  async reverse(order: ReversalOrder): Promise<PaymentEnd> {
    const { chooser, device, answers } = this.#world;
    const { receiptNumber, reference = "" } = order;
    const named = device.entries.findIndex((_, index) => nameOf(index) === receiptNumber);
    this.#world.leaves("reversal", named < 0 ? null : named);
    const way = chooser.choose("the reversal", [
      "it is received, and carried out",
      "it is received, and refused by the bank",
      "it fails, and was carried out",
      "it fails",
      "it never arrives",
      "the terminal is busy",
    ]);
    await this.#wait(CARD_MS);
    if (way.endsWith("carried out") && named >= 0 && device.entries[named]?.money === "standing") {
      takeBack(device, named, false);
      this.#world.bank();
    }
    if (way === "the terminal is busy") {
      return this.#heard({ end: "refused", code: "Busy", text: "busy", reason: "busy" });
    }
    if (way === "it never arrives") return this.#heard(lost("line"));
    const report = way.startsWith("it fails") ? failures.unclear : received;
    answers.set(reference, { says: "failure", report });
    return this.#heard(lost("received, or not"));
  }

  async recall({ reference }: RecallOrder, signal: AbortSignal): Promise<Recollection> {
    const { chooser, answers, recorder } = this.#world;
    await this.#answers(signal);
    const answer = answers.get(reference);
    const isOpen = answer && answer.says !== "runs" && this.#world.mayChooseAbout(reference);
    const way = isOpen ? chooser.choose("asked by id, it gives", repeats(answer)) : "its answer";
    recorder.known(`asked about ${reference}: ${way}`);
    if (way === "nothing") throw new TerminalUnavailable("no-answer", "silent");
    if (way === "the answer to another request") return { kind: "not-told", why: "another id" };
    if (way === "that it knows no such request") answers.delete(reference);
    if (way === "a failure") return { kind: "answered", report: failures.declined };
    if (way === "an approval") {
      const { amountMinor, receiptNumber } = { amountMinor: 500, receiptNumber: "sim.never" };
      return { kind: "answered", report: { ...received, amountMinor, receiptNumber } };
    }
    const now = answers.get(reference);
    if (!now) return { kind: "not-found" };
    if (now.says === "runs") return { kind: "running" };
    recorder.known(textOf({ kind: "transaction", report: now.report }));
    if (now.charge !== undefined) recorder.shows(now.charge, JSON.stringify(now.report));
    return { kind: "answered", report: now.report };
  }

  /** What becomes of the payment at the terminal; undefined: it has no answer yet, or never. */
  #becomes(reference: string, what: string, broke: Assumption | null) {
    const { order, attempt, answers } = this.#world;
    const keep = (answer: Exclude<AnswerById, { says: "runs" }>) => {
      answers.set(reference, answer);
      return answer;
    };
    switch (what) {
      case "the bank approves":
        return keep(this.#approved(order, attempt, {}, broke));
      case "another amount is approved":
        return keep(this.#approved(order, attempt, { amountMinor: WRONG_MINOR }, broke));
      case "the bank declines":
        return keep({ says: "failure", report: failures.declined });
      case "the customer goes":
        return keep({ says: "failure", report: failures.cancelled });
      case "the bank declines and the card is charged":
        this.#charged(order, attempt, {}, "decline-final");
        return keep({ says: "failure", report: failures.declined });
      case "it is cancelled and the card is charged":
        this.#charged(order, attempt, {}, "abort-final");
        return keep({ says: "failure", report: failures.cancelled });
      case "it is approved and then cancelled":
        return keep({ says: "failure", report: failures.unclear });
      case "it is approved and then cancelled and stays charged":
        this.#charged(order, attempt);
        return keep({ says: "failure", report: failures.unclear });
      case "it never arrives":
        return undefined;
      default: {
        const isLate = what.startsWith("it arrives later");
        if (!isLate) answers.set(reference, { says: "runs" });
        this.#world.clock.startTimer("the terminal", WITHIN_LIMIT_MS, () => {
          const aborted = answers.get(reference);
          if (!isLate && aborted?.says !== "runs") return;
          if (what.endsWith("approves")) keep(this.#approved(order, attempt));
          else keep({ says: "failure", report: failures.cancelled });
        });
        return undefined;
      }
    }
  }

  #charged(...[order, attempt, change = {}, broke = null]: ChargeArguments): number {
    const index = this.#world.charge(order, { attempt, ...change }, broke);
    this.#world.keep(index);
    return index;
  }

  #approved(...made: ChargeArguments) {
    const charge = this.#charged(...made);
    const { traceNumber: _, ...report } = recordOf(this.#world, charge);
    const named = { receiptNumber: nameOf(charge), namedAt: "2026-01-15T12:00:00Z" };
    return {
      says: "approval",
      charge,
      report: { ...report, ...named, traceNumber: null },
    } as const;
  }

  #reports(
    charge: number | null,
    report: TransactionReport,
    observer: PaymentObserver,
  ): PaymentEnd {
    const { recorder } = this.#world;
    recorder.known(`a report: ${textOf({ kind: "transaction", report })}`);
    recorder.shows(charge, JSON.stringify(report));
    observer.report(report);
    return this.#heard({ end: "completed", ticket: "" });
  }

  #heard(end: PaymentEnd): PaymentEnd {
    this.#world.recorder.known(`the command ends: ${end.end}`);
    return end;
  }

  async #answers(signal: AbortSignal): Promise<void> {
    await sleep(this.#life.clock, "the terminal's answer", ANSWER_MS, signal);
    if (!this.#life.alive) await never;
    if (this.#world.isAway) throw new TerminalUnavailable("disconnected", "no line");
  }

  async #wait(ms: number): Promise<void> {
    await sleep(this.#life.clock, "the terminal", ms);
    if (!this.#life.alive) await never;
  }
}

type ChargeArguments = [
  order: string,
  attempt: number,
  change?: Partial<Entry>,
  broke?: Assumption | null,
];

/** What a question by id may be answered. */
const repeats = ({ says }: AnswerById): Option[] => [
  "its answer",
  "nothing",
  "the answer to another request",
  ["that it knows no such request", "not-found-is-final"],
  [says === "approval" ? "a failure" : "an approval", "status-remembers"],
];

const received: TransactionReport = { ...notGood, good: true, resultCode: "Success", reason: null };

/** What may become of a payment; what the terminal does after the comma, its answer shows. */
const ways: Option[] = [
  "the bank approves",
  "the bank declines",
  "the customer goes",
  "another amount is approved",
  "it is approved and then cancelled",
  "it is approved and then cancelled and stays charged",
  ["the bank declines and the card is charged", "decline-final"],
  ["it is cancelled and the card is charged", "abort-final"],
  "the answer is lost, the bank approves",
  "the answer is lost, another amount is approved",
  "the answer is lost, the customer goes",
  "the answer is lost, it is approved and then cancelled and stays charged",
  "the answer is lost, it never arrives",
  "the answer is lost, it arrives later and the bank approves",
  "the answer is lost, it runs on and the bank approves",
  "the answer is lost, it runs on and the customer goes",
  "the kiosk cancels, the customer goes",
  "the kiosk cancels, the bank approves",
  ["the terminal says it was cancelled, the bank approves", "abort-final"],
  ["the terminal says it was cancelled, another amount is approved", "abort-final"],
  ["tp-manager is killed, the bank approves", "restarts"],
  ["tp-manager is killed, the customer goes", "restarts"],
  ["tp-manager is killed, it never arrives", "restarts"],
];
