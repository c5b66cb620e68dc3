import { type Clock, sleep } from "../../../src/shared/time.ts";
import {
  type Baseline,
  type CancelAnswer,
  type RecallOrder,
  type Recollection,
  TerminalUnavailable,
} from "../../../src/tp-manager/terminal/terminal.ts";
import { baseline } from "./reports.ts";
import { ScriptedTerminal } from "./scripted-terminal.ts";

const unknown = { kind: "not-told", why: "it answers by id only" } as const;
export const LIMIT_MS = 180_000;

/** A terminal that can be asked about each command by its reference, and about nothing else. */
export class AskedById extends ScriptedTerminal {
  override readonly capabilities = {
    paymentLimitMs: LIMIT_MS,
    lastTransaction: false,
    recalls: true as const,
    cannotRefuse: true as const,
    vending: false,
    partialIssue: false,
  };
  override baseline: Baseline = { ...baseline, last: unknown, registerId: "kiosk" };
  override last = unknown;
  /** What it answers about a command; an error: it cannot say yet. */
  recollection: Recollection | TerminalUnavailable = { kind: "not-found" };
  readonly asked: RecallOrder[] = [];
  readonly aborted: RecallOrder[] = [];

  /** How long each question takes. */
  takesMs = 0;
  clock: Clock | undefined;

  async recall(asked: RecallOrder): Promise<Recollection> {
    this.asked.push(asked);
    const { recollection } = this;
    if (this.clock && this.takesMs > 0) await sleep(this.clock, "recall", this.takesMs);
    if (recollection instanceof TerminalUnavailable) throw recollection;
    return recollection;
  }

  abort(asked: RecallOrder): Promise<CancelAnswer> {
    this.aborted.push(asked);
    return Promise.resolve({ answer: "taken" });
  }
}
