import type { AttemptInput } from "../../../src/tp-manager/attempts/attempt-input.ts";
import {
  mayBeKeptBack,
  mayBeOfEarlier,
} from "../../../src/tp-manager/attempts/kept-back-policy.ts";
import type { Attempt } from "../../../src/tp-manager/attempts/payment.ts";
import { advance, judgeReport } from "../../../src/tp-manager/attempts/payment-machine.ts";
import { isInDoubt } from "../../../src/tp-manager/attempts/phase-table.ts";
import { concernsAttempt, referenceOf } from "../../../src/tp-manager/attempts/reference-policy.ts";
import { LateResults } from "../../../src/tp-manager/desk/late-results.ts";
import type { TransactionReport } from "../../../src/tp-manager/terminal/terminal.ts";
import { request } from "../../support/payment-house.ts";
import { report } from "../../support/reports.ts";
import type { Result, UnaskedScope, UnaskedWorld } from "./unasked-world.ts";

const nobody = { serialNumber: "", deviceId: "", terminalId: "", version: "" };
const cannotTell = { kind: "not-told", why: "cannot be asked" } as const;
const EURO = "978";
const silent = { info: () => {}, warn: () => {}, error: () => {} };

/** What a fault that is put back changes in the product. */
export interface UnaskedRules {
  readonly advance: typeof advance;
  readonly concerns: typeof concernsAttempt;
  /** A result on disk is the end after a restart. */
  readonly endsStored: boolean;
  /** Whether a result that names nothing can be that of one of the attempts before. */
  readonly ofEarlier: typeof mayBeOfEarlier;
}
export const productRules: UnaskedRules = {
  advance,
  concerns: concernsAttempt,
  endsStored: true,
  ofEarlier: mayBeOfEarlier,
};

/** The connector around the product's own decisions, on whose disk alone a crash leaves it. */
export class UnaskedConnector {
  readonly #scope: UnaskedScope;
  readonly #rules: UnaskedRules;

  constructor(scope: UnaskedScope, rules: UnaskedRules) {
    this.#scope = scope;
    this.#rules = rules;
  }

  admit(world: UnaskedWorld, order: string): void {
    const state = world.attempts.findLast((each) => each.order === order)?.state;
    if (state && state.phase !== "not-charged") {
      this.tell(world, order);
      return;
    }
    world.attempts.push({ order, state: { phase: "sent", last: null, goods: null } });
    world.run = { attempt: world.attempts.length - 1, at: "speaking" };
  }

  /** The newest word about an order. */
  tell(world: UnaskedWorld, order: string): void {
    const phase = world.attempts.findLast((each) => each.order === order)?.state.phase;
    const told = { charged: "charged", "not-charged": "not charged" } as const;
    world.told[order] = phase === "charged" || phase === "not-charged" ? told[phase] : "unknown";
  }

  /** Whether the result is stored, and so is acknowledged. */
  hear(world: UnaskedWorld, result: Result): boolean {
    const { run } = world;
    if (result.isRepeat && (run === null || run.at === "speaking")) return true;
    const told = this.#reportOf(result);
    if (run && run.at !== "told" && this.#isOf(world, run, told))
      return this.#own(world, run, told);
    return this.#late(world).take(told);
  }

  end(world: UnaskedWorld, how: "told" | "lost" | "refused"): void {
    const { run } = world;
    if (!run) return;
    const said = { code: "", text: how, ticket: "" };
    const end = { told: { end: "completed", ...said }, lost: { end: "lost", ...said } } as const;
    const input = { end: "refused", ...said } as const;
    this.#advance(world, run.attempt, { input: "end", end: how === "refused" ? input : end[how] });
    world.run = null;
    this.#ended(world, run.attempt);
  }

  crash(world: UnaskedWorld): void {
    const { run, attempts } = world;
    world.run = null;
    world.questions = [];
    if (run) world.told[attempts[run.attempt]?.order ?? ""] = "unknown";
    for (const [index, { state }] of attempts.entries()) {
      if (state.phase === "sent") {
        this.#advance(world, index, { input: "interrupted", unwritten: true });
        if (this.#rules.endsStored) this.#late(world).endStored(this.#attemptOf(world, index));
      }
      const now = world.attempts[index]?.state;
      if (now && isInDoubt(now)) world.questions.push(index);
    }
  }

  #ended(world: UnaskedWorld, index: number): void {
    const { order, state } = world.attempts[index] ?? {};
    if (state && isInDoubt(state)) world.questions.push(index);
    if (order !== undefined) this.tell(world, order);
  }

  #own(
    world: UnaskedWorld,
    { attempt }: NonNullable<UnaskedWorld["run"]>,
    told: TransactionReport,
  ): boolean {
    const asked = { amountMinor: this.#amountOf(world, attempt), currencyNumeric: EURO };
    const judgement = judgeReport(asked, told);
    this.#advance(world, attempt, { input: "report", report: told, judgement });
    if (told.resultText === "later") return true;
    world.run = { attempt, at: told.resultCode === null ? "unclear" : "told" };
    return true;
  }

  #amountOf({ attempts }: UnaskedWorld, index: number): number {
    return this.#scope.orders[attempts[index]?.order ?? ""] ?? 0;
  }

  /** As the driver has it: what came too early has to name the payment. */
  #isOf(
    world: UnaskedWorld,
    { attempt, at }: NonNullable<UnaskedWorld["run"]>,
    told: TransactionReport,
  ): boolean {
    const id = idOf(attempt);
    if (at === "speaking" && told.reference !== referenceOf(id)) return false;
    if (!this.#rules.concerns(told, id, this.#amountOf(world, attempt))) return false;
    if (this.#scope.isBare) return true;
    const earlier = world.attempts.map((_, index) => this.#attemptOf(world, index)).reverse();
    const others = earlier.filter(({ transactionId }) => transactionId !== id);
    return !this.#rules.ofEarlier(told, mayBeKeptBack(others));
  }

  #reportOf({ attempt, named, says, amountMinor }: Result): TransactionReport {
    const name = named ?? attempt;
    const isNamed = this.#scope.echoes && name !== null;
    const codes = { approved: "0", declined: "7", later: null, "nothing clear": null };
    return report({
      ...{ good: says === "approved", resultCode: codes[says], resultText: says, amountMinor },
      ...{ reason: says === "declined" ? "declined" : null, receiptNumber: null },
      ...{ traceNumber: null, terminalId: null, localDate: null, localTime: null },
      reference: isNamed ? referenceOf(idOf(name)) : null,
    });
  }

  #advance(world: UnaskedWorld, index: number, input: AttemptInput): void {
    const before = world.attempts[index];
    if (!before) throw new Error(`the walk has no attempt ${index}`);
    const state = this.#rules.advance(before.state, input);
    world.attempts[index] = { order: before.order, state };
  }

  #attemptOf({ attempts }: UnaskedWorld, index: number): Attempt {
    const { order, state } = attempts[index] ?? {};
    if (!order || !state) throw new Error(`the walk has no attempt ${index}`);
    return {
      ...{ transactionId: idOf(index), number: index + 1, state, ticket: "" },
      request: request(order, { amountMinor: this.#scope.orders[order] ?? 0 }),
      ...{ startedAtMs: 0, endedAtMs: null, returnedMinor: 0, returnedSome: false },
      baseline: { identity: nobody, last: cannotTell, clockOffsetMs: null },
      openReturn: null,
    };
  }

  /** The product's late results, on the disk of this world. */
  #late(world: UnaskedWorld): LateResults {
    const all = (): Attempt[] => world.attempts.map((_, index) => this.#attemptOf(world, index));
    const attempts = {
      unfinished: () => all().filter(({ state }) => state.phase === "sent" || isInDoubt(state)),
      newest: () =>
        all()
          .map((attempt, position) => ({ attempt, position }))
          .reverse(),
      latest: (order: string) => all().findLast(({ request: { orderId } }) => orderId === order),
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
      keepStray: (stray: { report: TransactionReport }) => {
        world.strays.push(stray.report.amountMinor ?? 0);
        return world.strays.length;
      },
      endStray: () => undefined,
      // No result of the walk names an attempt behind which another one of its order is open.
      strays: () => [],
    };
    const state = { identity: nobody };
    const terminal = { capabilities: { cannotRefuse: true, noIdentity: true }, state };
    const inquiries = { reconsider: () => undefined };
    const clock = { now: () => 0, monotonicMs: () => 0 };
    const parts = { attempts, terminalLog, terminal, clock, log: silent, inquiries };
    return new LateResults({ ...parts, settled: () => undefined } as never);
  }
}

const idOf = (index: number): string => String(index);
