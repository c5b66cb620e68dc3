/**
 * Finds out whether a refused financial command is provably not running. A 84 xx names no command:
 * a late answer to an earlier one, or one "out of nowhere" after an update (docs/zvt.md 12.6), is
 * equal to it, and the terminal may be carrying out ours.
 *
 * A terminal carries commands out in the order in which they arrive, one after the other
 * (docs/zvt.md 5.2). So a status enquiry after ours that ends with a status, on the same unbroken
 * link, shows that ours is over; with no 04 0F in between, that it charged nothing.
 */
import { type Clock, sleep } from "../../../shared/time.ts";
import type { Message } from "../../../zvt/index.ts";
import { codeOf, NOT_REGISTERED } from "../../../zvt/tables/result-codes.ts";
import type { Command } from "./commands/commands.ts";
import type { RunCommand } from "./session/session.ts";
import type { ExchangeEnd } from "./session/session-state.ts";
import { terminalStatus } from "./terminal-statuses.ts";

const ASK_AGAIN_MS = 1_000;

/** Returns whether the command has ended; asks a busy terminal for `checkMs`. Never rejects. */
export async function isOver(
  refusal: Message,
  run: RunCommand,
  enquiry: Command,
  checkMs: number,
  clock: Clock,
): Promise<boolean> {
  const untilMs = clock.monotonicMs() + checkMs;
  for (;;) {
    const end = await run(enquiry);
    if (end.end === "lost" || end.end === "not-sent") return false;
    // A completion without a status byte belongs to a payment: our command was carried out.
    if (end.end === "completed" && end.message.parts.terminalStatus === undefined) return false;
    if (showsIdle(refusal, end)) return true;
    if (clock.monotonicMs() + ASK_AGAIN_MS > untilMs) return false;
    await sleep(clock, "zvt refused command", ASK_AGAIN_MS);
  }
}

function showsIdle(refusal: Message, end: ExchangeEnd): boolean {
  if (end.end === "completed") return terminalStatus(end.message).cr !== "1";
  // A terminal that has forgotten its registration refuses both commands for that reason.
  const isForgotten = codeOf(refusal) === NOT_REGISTERED;
  return end.end === "refused" && isForgotten && codeOf(end.message) === NOT_REGISTERED;
}
