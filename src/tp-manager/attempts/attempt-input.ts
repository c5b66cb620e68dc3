import { BrokenInvariant } from "../../shared/invariant.ts";
import type { Proof } from "../matching/answer.ts";
import type {
  Baseline,
  GoodsDecision,
  PaymentEnd,
  TransactionReport,
} from "../terminal/terminal.ts";
import type { Stored } from "./comparison.ts";
import type { AttemptState, Goods, Judgement } from "./payment.ts";

/** Everything that can happen to an attempt; payment-machine.ts decides which state follows. */
export type AttemptInput = {
  readonly [I in keyof Inputs]: { readonly input: I } & Readonly<Inputs[I]>;
}[keyof Inputs];

interface Inputs {
  /** A report of the terminal. `because`: why the report counts as another payment's report. */
  report: Reported & { judgement: Judgement; because?: string };
  /** A good report that approves a two-phase sale; the sale then waits for the goods decision. */
  hold: Reported & { decideByMs: number };
  decide: { decision: NonNullable<Goods["decision"]>; why: string };
  /** The kiosk's decision, too late for the terminal. `approved`: a sale of the order had been. */
  "decide-late": { decision: GoodsDecision; approved?: true };
  acknowledged: object;
  /** A good report of a second sale in the same payment; we refuse this report. */
  "second-sale": Reported;
  /** The command's end. `cancelled`: we had asked to cancel; an approval can cross this request. */
  end: { end: PaymentEnd; cancelled?: boolean };
  /**
   * The outcome was not received or not written, because the process ended or the disk failed.
   * `unwritten`: the last event received may be missing on the disk (docs/design.md 2.1).
   */
  interrupted: { unwritten?: boolean };
  /** `reference`: by which the terminal can be asked about the reversal later. */
  reverse: { baseline: Baseline; reference?: string };
  /**
   * An operator settled an attempt in doubt. `report` is recorded with a charge; `amountMinor` is
   * the charged amount that the operator named.
   */
  settled: Reported & {
    outcome: "charged" | "not-charged" | "reversed";
    note: string;
    amountMinor?: number;
  };
  /** `ticket`: the receipt that the terminal sent with its answer by id. */
  "proved-charged": Reported & Grounds & { ticket?: string };
  /**
   * `takenBack`: no end was heard, and the terminal has stored the reversal of the sale. `report`:
   * the failure that the terminal answered when it was asked by id.
   */
  "proved-not-charged": Grounds & { takenBack?: true; report?: TransactionReport };
  "proved-reversed": Reported & Grounds;
  "proved-not-reversed": Grounds;
  /** The terminal has passed the reversal on, and does not know what became of it. */
  "proved-requested": Grounds;
  /** The terminal has stored a sale that it reported after it had reported the payment's end. */
  "found-charged": Reported & Grounds;
  /**
   * The terminal has stored a sale that it reported late and that may be another order's. Without
   * `judgement`, the report agrees with the request.
   */
  "found-in-doubt": Reported & Grounds & { judgement?: Judgement };
  /** The terminal has stored a reversal of a charged sale, which we did not request. */
  "found-reversed": Reported & Grounds;
  /**
   * A one-way terminal reported the result after the payment had ended (docs/rules/25-one-way.md).
   * `wasStored`: the result was already on disk, but no outcome.
   */
  "late-result": Reported & Grounds & { judgement: Judgement; wasStored?: true };
}

interface Reported {
  readonly report: TransactionReport;
}

/** The reason for a verdict, stored with the verdict, because a verdict is given only once. */
interface Grounds {
  readonly because: string;
  /** The facts of the proof. `rules` is the version of the matching rules that gave the verdict. */
  readonly proof?: Proof & { readonly rules: number };
  /** The probe (a reading of the terminal's storage); null when the verdict needed no probe. */
  readonly observation?: (Stored & { readonly atMs: number }) | null;
}

/** Returns the error for an input that a state does not allow, which is a fault of this program. */
export function impossible(state: AttemptState, { input }: AttemptInput): BrokenInvariant {
  return new BrokenInvariant(`an attempt that is ${state.phase} got ${input}`);
}
