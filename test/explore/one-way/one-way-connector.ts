import { OneWay } from "../../../src/tp-manager/arbiter/one-way.ts";
import type { AttemptInput } from "../../../src/tp-manager/attempts/attempt-input.ts";
import type { Attempt } from "../../../src/tp-manager/attempts/payment.ts";
import { advance, judgeReport } from "../../../src/tp-manager/attempts/payment-machine.ts";
import { isInDoubt } from "../../../src/tp-manager/attempts/phase-table.ts";
import { referenceOf } from "../../../src/tp-manager/attempts/reference-policy.ts";
import type { Fact } from "../../../src/tp-manager/matching/assumptions.ts";
import { assumptionsOf } from "../../../src/tp-manager/matching/assumptions.ts";
import type { TransactionReport } from "../../../src/tp-manager/terminal/terminal.ts";
import { request } from "../../support/house/payment-house.ts";
import { report } from "../../support/terminals/reports.ts";
import type { OneWayScope, OneWayWorld, Result } from "./one-way-world.ts";

const nobody = { serialNumber: "", deviceId: "", terminalId: "", version: "" };
const cannotBeAsked = { kind: "not-told", why: "cannot be asked" } as const;
const EURO = "978";
const silent = { info: () => {}, warn: () => {}, error: () => {} };

/** What a fault that is put back changes in the product. */
export interface OneWayRules {
  readonly advance: typeof advance;
  /** Whether a result is that of the current payment. */
  readonly isOf: (oneWay: OneWay, ...result: Parameters<OneWay["isOf"]>) => boolean;
  /** A result on disk is the end after a restart. */
  readonly endsStored: boolean;
}
export const productRules: OneWayRules = {
  advance,
  isOf: (oneWay, ...result) => oneWay.isOf(...result),
  endsStored: true,
};

/** The connector around the product's own decisions, on whose disk alone a crash leaves it. */
export class OneWayConnector {
  readonly #scope: OneWayScope;
  readonly #rules: OneWayRules;

  constructor(scope: OneWayScope, rules: OneWayRules) {
    this.#scope = scope;
    this.#rules = rules;
  }

  admit(world: OneWayWorld, order: string): void {
    const state = world.attempts.findLast((each) => each.order === order)?.state;
    if (state && state.phase !== "not-charged") {
      this.answerKiosk(world, order);
      return;
    }
    world.attempts.push({ order, state: { phase: "sent", last: null, goods: null } });
    world.run = { attempt: world.attempts.length - 1, at: "speaking" };
  }

  /** The newest word about an order. */
  answerKiosk(world: OneWayWorld, order: string): void {
    const phase = world.attempts.findLast((each) => each.order === order)?.state.phase;
    const heard = { charged: "charged", "not-charged": "not charged" } as const;
    world.answers[order] =
      phase === "charged" || phase === "not-charged" ? heard[phase] : "unknown";
  }

  /** Whether the result is stored, and so gets its ACK. */
  hear(world: OneWayWorld, result: Result): boolean {
    const { run } = world;
    if (result.isRepeat && (run === null || run.at === "speaking")) return true;
    const report = this.#reportOf(result);
    const heard = { report, isEarly: run?.at === "speaking", isAgain: false };
    const oneWay = this.#arbiter(world);
    const running = run && run.at !== "told" ? this.#attemptOf(world, run.attempt) : undefined;
    if (run && running && this.#rules.isOf(oneWay, running, heard)) {
      const isStored = this.#own(world, run, report);
      oneWay.learn(report);
      return isStored;
    }
    return oneWay.take(heard);
  }

  end(world: OneWayWorld, how: "told" | "lost" | "refused"): void {
    const { run } = world;
    if (!run) return;
    const said = { code: "", text: how, ticket: "" };
    const end = { told: { end: "completed", ...said }, lost: { end: "lost", ...said } } as const;
    const input = { end: "refused", ...said } as const;
    this.#advance(world, run.attempt, { input: "end", end: how === "refused" ? input : end[how] });
    world.run = null;
    this.#ended(world, run.attempt);
  }

  crash(world: OneWayWorld): void {
    const { run, attempts } = world;
    world.run = null;
    world.questions = [];
    if (run) world.answers[attempts[run.attempt]?.order ?? ""] = "unknown";
    for (const [index, { state }] of attempts.entries()) {
      if (state.phase === "sent") {
        this.#advance(world, index, { input: "interrupted", unwritten: true });
        if (this.#rules.endsStored) this.#arbiter(world).endStored(this.#attemptOf(world, index));
      }
      const now = world.attempts[index]?.state;
      if (now && isInDoubt(now)) world.questions.push(index);
    }
  }

  #ended(world: OneWayWorld, index: number): void {
    const { order, state } = world.attempts[index] ?? {};
    if (state && isInDoubt(state)) world.questions.push(index);
    if (order !== undefined) this.answerKiosk(world, order);
  }

  #own(
    world: OneWayWorld,
    { attempt }: NonNullable<OneWayWorld["run"]>,
    heard: TransactionReport,
  ): boolean {
    const asked = { amountMinor: this.#amountOf(world, attempt), currencyNumeric: EURO };
    const judgement = judgeReport(asked, heard);
    this.#advance(world, attempt, { input: "report", report: heard, judgement });
    if (heard.resultText === "later") return true;
    world.run = { attempt, at: heard.resultCode === null ? "unclear" : "told" };
    return true;
  }

  #amountOf({ attempts }: OneWayWorld, index: number): number {
    return this.#scope.orders[attempts[index]?.order ?? ""] ?? 0;
  }

  #reportOf({ attempt, named, says, amountMinor }: Result): TransactionReport {
    const name = named ?? attempt;
    const isNamed = this.#scope.echoes && name !== null;
    const codes = { approved: "0", declined: "7", later: null, "nothing clear": null };
    return report({
      good: says === "approved",
      resultCode: codes[says],
      resultText: says,
      amountMinor,
      reason: says === "declined" ? "declined" : null,
      receiptNumber: null,
      traceNumber: null,
      terminalId: null,
      localDate: null,
      localTime: null,
      reference: isNamed ? referenceOf(idOf(name)) : null,
    });
  }

  #advance(world: OneWayWorld, index: number, input: AttemptInput): void {
    const before = world.attempts[index];
    if (!before) throw new Error(`the walk has no attempt ${index}`);
    const state = this.#rules.advance(before.state, input);
    world.attempts[index] = { order: before.order, state };
  }

  #attemptOf({ attempts }: OneWayWorld, index: number): Attempt {
    const { order, state } = attempts[index] ?? {};
    if (!order || !state) throw new Error(`the walk has no attempt ${index}`);
    return {
      transactionId: idOf(index),
      number: index + 1,
      state,
      ticket: "",
      request: request(order, { amountMinor: this.#scope.orders[order] ?? 0 }),
      startedAtMs: 0,
      endedAtMs: null,
      returnedMinor: 0,
      returnedSome: false,
      baseline: { identity: nobody, last: cannotBeAsked, clockOffsetMs: null },
      openReturn: null,
    };
  }

  /** The product's results of one-way terminals, on the disk of this world. */
  #arbiter(world: OneWayWorld): OneWay {
    const all = (): Attempt[] => world.attempts.map((_, index) => this.#attemptOf(world, index));
    const attempts = {
      unfinished: () => all().filter(({ state }) => state.phase === "sent" || isInDoubt(state)),
      newest: () => all().toReversed(),
      // Each attempt of the walk has a baseline, and none ends unsent.
      canHaveLeft: () => true,
      ids: () => all().map(({ transactionId }) => transactionId),
      read: (id: string) => this.#attemptOf(world, Number(id)),
      ofOrder: (order: string) => all().filter(({ request: { orderId } }) => orderId === order),
      decisive: (order: string) => all().findLast(({ request: { orderId } }) => orderId === order),
      update: (id: string, { state }: { state: Attempt["state"] }) => {
        const index = Number(id);
        world.attempts[index] = { order: world.attempts[index]?.order ?? "", state };
        return this.#attemptOf(world, index);
      },
      addEvent: () => undefined,
      // No attempt of the walk ends unsent.
      events: () => [],
    };
    const terminalLog = {
      keepUnmatched: (unmatched: { report: TransactionReport }) => {
        world.unmatched.push(unmatched.report.amountMinor ?? 0);
        return world.unmatched.length;
      },
      endUnmatched: () => undefined,
      // In a walk no result names an attempt after which another one of its order is open.
      unmatched: () => [],
      heldAs: () => [],
      heldReferences: () => [],
    };
    const learned = {
      has: (fact: Fact) => world.learned.includes(fact),
      saw: (fact: Fact) => {
        world.learned = [...new Set([...world.learned, fact])].toSorted();
      },
      contradicted: () => undefined,
    };
    const state = { identity: nobody };
    const sharesLine = !this.#scope.isBare;
    const capabilities = { cannotRefuse: true, noIdentity: true, sharesLine };
    const terminal = { capabilities, state };
    const inquiries = { reconsider: () => undefined };
    const clock = { now: () => 0, monotonicMs: () => 0 };
    const matcher = { assumptions: assumptionsOf("one-way"), learned: () => learned };
    const settled = () => undefined;
    const journal = { attempts, terminalLog };
    const parts = { journal, terminal, clock, log: silent, matcher, settled };
    return new OneWay(parts as never, inquiries as never);
  }
}

const idOf = (index: number): string => String(index);
