import { BrokenInvariant } from "../../shared/invariant.ts";
import type { Proof } from "../matching/answer.ts";
import type {
  Baseline,
  GoodsDecision,
  LastTransaction,
  PaymentEnd,
  TerminalIdentity,
  TransactionReport,
} from "../terminal/terminal.ts";
import type { AttemptState, Judgement } from "./payment.ts";

/** Everything that can happen to an attempt; payment-machine.ts says what it does. */
export type AttemptInput =
  | {
      readonly input: "report";
      readonly report: TransactionReport;
      readonly judgement: Judgement;
      /** Why the report is taken for that of another payment. */
      readonly because?: string;
    }
  /** A good report that waits for the goods. */
  | { readonly input: "hold"; readonly report: TransactionReport; readonly decideByMs: number }
  | { readonly input: "decide"; readonly decision: GoodsDecision; readonly why: string }
  | { readonly input: "acknowledged" }
  /** A good report of another sale than the one reported before; refused on the wire. */
  | { readonly input: "second-sale"; readonly report: TransactionReport }
  /** `cancelled`: we had asked the terminal to cancel, so an approval may have crossed it. */
  | { readonly input: "end"; readonly end: PaymentEnd; readonly cancelled?: boolean }
  /**
   * The process that ran the attempt has ended; found at the next start. `unwritten`: the last that
   * it received may not be on disk (docs/design.md 1.3).
   */
  | { readonly input: "interrupted"; readonly unwritten?: boolean }
  | { readonly input: "reverse"; readonly baseline: Baseline }
  | (Verdict & Grounds)
  /** An operator settled an attempt in doubt. `report`: what a charge is recorded with. */
  | {
      readonly input: "settled";
      readonly outcome: "charged" | "not-charged" | "reversed";
      readonly report: TransactionReport;
      readonly note: string;
      /** The amount that the operator named. */
      readonly amountMinor?: number;
    };

/** A decision about the money that rests on evidence. */
type Verdict =
  | { readonly input: "proved-charged"; readonly report: TransactionReport }
  | { readonly input: "proved-not-charged" }
  | { readonly input: "proved-reversed"; readonly report: TransactionReport }
  | { readonly input: "proved-not-reversed" }
  /** The terminal holds a sale that it reported after it had ended this payment. */
  | { readonly input: "found-charged"; readonly report: TransactionReport }
  /** The terminal holds such a sale, which can be that of another order as well. */
  | {
      readonly input: "found-in-doubt";
      readonly report: TransactionReport;
      /** Left out: the report agrees with what was asked. */
      readonly judgement?: Judgement;
    }
  /** The terminal holds the reversal of a charged sale, and no command here waits for it. */
  | { readonly input: "found-reversed"; readonly report: TransactionReport }
  /** A one-way terminal has reported the result after all (docs/rules/25-one-way.md). */
  | {
      readonly input: "late-result";
      readonly report: TransactionReport;
      readonly judgement: Judgement;
      /** The result was on disk already, without its end. */
      readonly wasStored?: true;
    };

/** Why a verdict was given. Kept with it, because a verdict is never given a second time. */
interface Grounds {
  /** For people. */
  readonly because: string;
  /** `rules`: the version of the rules that gave the verdict. */
  readonly proof?: Proof & { readonly rules: number };
  /** A probe of the terminal; null: none was made for this. */
  readonly observation?: {
    readonly identity: TerminalIdentity;
    readonly last: LastTransaction;
    readonly atMs: number;
  } | null;
}

/** The error for a pair of state and input that the machines do not describe: a fault of ours. */
export function impossible(state: AttemptState, { input }: AttemptInput): BrokenInvariant {
  return new BrokenInvariant(`an attempt that is ${state.phase} got ${input}`);
}
