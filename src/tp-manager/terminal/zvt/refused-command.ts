/**
 * Whether a refused financial command is provably not running. A 84 xx names no command: a late
 * answer to an earlier one, or one "out of nowhere" after an update (docs/zvt.md 12.6), looks the
 * same as the refusal of ours, while the terminal goes on to take ours up.
 *
 * Commands are carried out in the order in which they arrive, and a terminal that serves one gives
 * no other one its end (docs/zvt.md 5.2). So a status enquiry after ours that ends with a status,
 * on the same unbroken link, shows that ours is over; with no 04 0F heard in between, that it
 * charged nothing.
 */
import { type Clock, sleep } from "../../../shared/time.ts";
import type { Message } from "../../../zvt/index.ts";
import type { Command } from "./commands/command.ts";
import { codeOf, NOT_REGISTERED, type RunCommand } from "./introduction.ts";
import type { ExchangeEnd } from "./session/session-state.ts";
import { terminalStatus } from "./terminal-statuses.ts";
import type { ZvtOptions } from "./zvt-options.ts";

const ASK_AGAIN_MS = 1_000;

/**
 * Asks a busy terminal again, by `enquiry`, for as long as the options allow. Never rejects.
 */
export async function isOver(
  refusal: Message,
  { run, enquiry }: { readonly run: RunCommand; readonly enquiry: Command },
  options: Pick<ZvtOptions, "refusalCheckMs">,
  clock: Clock,
): Promise<boolean> {
  const untilMs = clock.monotonicMs() + options.refusalCheckMs;
  for (;;) {
    const end = await run(enquiry);
    if (end.end === "lost" || end.end === "not-sent") return false;
    if (isForeignEnd(end)) return false;
    if (showsIdle(refusal, end)) return true;
    if (clock.monotonicMs() + ASK_AGAIN_MS > untilMs) return false;
    await sleep(clock, "zvt refused command", ASK_AGAIN_MS);
  }
}

/** A good end without a status byte is that of a payment: ours was taken up after all. */
function isForeignEnd(end: ExchangeEnd): boolean {
  return end.end === "completed" && end.message.parts.terminalStatus === undefined;
}

function showsIdle(refusal: Message, end: ExchangeEnd): boolean {
  switch (end.end) {
    case "completed":
      return terminalStatus(end.message).cr !== "1";
    case "refused":
      // A terminal that has forgotten its registration refuses one as the other.
      return codeOf(refusal) === NOT_REGISTERED && codeOf(end.message) === NOT_REGISTERED;
    case "answered":
    case "aborted":
    case "lost":
    case "not-sent":
      return false;
  }
}
