import type { TerminalArbiter } from "../arbiter/terminal-arbiter.ts";
import { storage } from "../attempts/failures.ts";
import { type Attempt, isApproved, isPaying } from "../attempts/payment.ts";
import type { AttemptRows } from "../journal/attempt-rows.ts";

/**
 * An attempt as it may be told: "Approved" is told only while the terminal really holds the sale,
 * because a kiosk hands out its goods on that word (docs/design.md 5.11). The record on disk says
 * less when the end could not be written, or was not heard by an earlier process.
 */
export function toTell(
  read: Attempt,
  {
    attempts,
    arbiter,
  }: { attempts: Pick<AttemptRows, "read">; arbiter: Pick<TerminalArbiter, "running"> },
): Attempt {
  if (!isApproved(read.state) || arbiter.running.awaitsGoods(read.request.orderId)) return read;
  const attempt = storage(() => attempts.read(read.transactionId), "unknown") ?? read;
  const { state } = attempt;
  return isPaying(state) && isApproved(state)
    ? { ...attempt, state: { ...state, goods: null } }
    : attempt;
}
