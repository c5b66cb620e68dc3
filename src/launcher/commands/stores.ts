import { createIpcClient, IpcError } from "../../shared/ipc/client.ts";
import { tpManagerMessages } from "../../shared/ipc/contract.ts";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import { isoTime } from "../../shared/time.ts";
import type { LauncherArguments } from "../arguments.ts";
import type { CommandContext } from "../output.ts";

const ANSWER_WITHIN_MS = 5_000;

/** Shows the journal gap (payments may be missing, docs/rules/34-journal-gap.md), or closes it. */
export async function stores(
  { dataDirectory, clock, output }: CommandContext,
  { subject }: LauncherArguments,
): Promise<number> {
  const run = openRunDirectory(dataDirectory);
  const client = createIpcClient(run, "tp-manager", tpManagerMessages, clock);
  try {
    const request = { accept: subject === "accept" };
    const answer = await client.call("stores", request, ANSWER_WITHIN_MS);
    const gap = answer.doubt;
    if (answer.ended) {
      output.row("journal.db", "good", "accepted", "new orders are paid without a lookup");
    } else if (!gap) output.row("journal.db", "good", "whole");
    else {
      const found = `found at ${isoTime(gap.sinceMs)}: ${gap.because}`;
      output.row("journal.db", "warn", "has a gap", found);
      const imported = gap.takenOver ? "imported" : "being imported";
      output.row("supervisor's orders", gap.takenOver ? "good" : "warn", imported);
      for (const sale of gap.ofNoOrder) output.row("sale of no order", "warn", "open", sale);
    }
    if (answer.handingAgain) {
      const what = "tp-manager hands off everything again; this ends by itself";
      output.row("supervisor.db", "warn", "being filled", what);
    }
    return exitCodes.ok;
  } catch (error) {
    if (!(error instanceof IpcError)) throw error;
    const { failure, message } = error;
    const why = failure === "refused" ? message : `tp-manager does not answer (${message})`;
    output.fault(`${why}; see ./launch.sh status`);
    return exitCodes.unavailable;
  } finally {
    client.close();
  }
}
