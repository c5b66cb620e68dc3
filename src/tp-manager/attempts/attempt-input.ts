import { BrokenInvariant } from "../../shared/invariant.ts";
import type { Proof } from "../matching/answer.ts";
import type { Stored } from "../matching/comparison.ts";
import type {
  Baseline,
  GoodsDecision,
  PaymentEnd,
  TransactionReport,
} from "../terminal/terminal.ts";
import type { AttemptState, Judgement } from "./payment.ts";

/** Everything that can happen to an attempt; payment-machine.ts says what it does. */
export type AttemptInput = {
  readonly [I in keyof Inputs]: { readonly input: I } & Readonly<Inputs[I]>;
}[keyof Inputs];

interface Inputs {
  /** `because`: why the report is taken for that of another payment. */
  report: Reported & { judgement: Judgement; because?: string };
  /** A good report that waits for the goods. */
  hold: Reported & { decideByMs: number };
  decide: { decision: GoodsDecision; why: string };
  acknowledged: object;
  /** A good report of another sale than the one reported before; refused on the wire. */
  "second-sale": Reported;
  /** `cancelled`: we had asked the terminal to cancel, so an approval may have crossed it. */
  end: { end: PaymentEnd; cancelled?: boolean };
  /**
   * The process that ran the attempt has ended; found at the next start. `unwritten`: the last that
   * it received may not be on disk (docs/design.md 1.3).
   */
  interrupted: { unwritten?: boolean };
  reverse: { baseline: Baseline };
  /**
   * An operator settled an attempt in doubt. `report`: what a charge is recorded with;
   * `amountMinor`: the amount that the operator named.
   */
  settled: Reported & {
    outcome: "charged" | "not-charged" | "reversed";
    note: string;
    amountMinor?: number;
  };
  "proved-charged": Reported & Grounds;
  "proved-not-charged": Grounds;
  "proved-reversed": Reported & Grounds;
  "proved-not-reversed": Grounds;
  /** The terminal holds a sale that it reported after it had ended this payment. */
  "found-charged": Reported & Grounds;
  /**
   * The terminal holds such a sale, which can be that of another order as well. `judgement`: left
   * out, the report agrees with what was asked.
   */
  "found-in-doubt": Reported & Grounds & { judgement?: Judgement };
  /** The terminal holds the reversal of a charged sale, and no command here waits for it. */
  "found-reversed": Reported & Grounds;
  /**
   * A one-way terminal has reported the result after all (docs/rules/25-one-way.md). `wasStored`:
   * the result was on disk already, without its end.
   */
  "late-result": Reported & Grounds & { judgement: Judgement; wasStored?: true };
}

interface Reported {
  readonly report: TransactionReport;
}

/** Why a verdict was given. Kept with it, because a verdict is never given a second time. */
interface Grounds {
  /** For people. */
  readonly because: string;
  /** `rules`: the version of the rules that gave the verdict. */
  readonly proof?: Proof & { readonly rules: number };
  /** A probe of the terminal; null: none was made for this. */
  readonly observation?: (Stored & { readonly atMs: number }) | null;
}

/** The error for a pair of state and input that the machines do not describe: a fault of ours. */
export function impossible(state: AttemptState, { input }: AttemptInput): BrokenInvariant {
  return new BrokenInvariant(`an attempt that is ${state.phase} got ${input}`);
}
