import { createIpcClient, IpcError } from "../../shared/ipc/client.ts";
import { tpManagerMessages } from "../../shared/ipc/contract.ts";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import { isoTime } from "../../shared/time.ts";
import type { CommandContext } from "../output.ts";

const ANSWER_WITHIN_MS = 5_000;

/**
 * Shows the journal gap after a loss or a restore (docs/rules/17-loss.md), or closes it on an
 * operator's request.
 */
export async function stores(
  { installation, clock, output }: CommandContext,
  accept: boolean,
): Promise<number> {
  const run = openRunDirectory(installation.dataDirectory);
  const client = createIpcClient(run, "tp-manager", tpManagerMessages, clock);
  try {
    const told = await client.call("stores", { accept }, ANSWER_WITHIN_MS);
    const { doubt, ended, handingAgain } = told;
    if (ended) output.row("journal.db", "good", "accepted", "orders are no longer looked up first");
    else if (!doubt) output.row("journal.db", "good", "whole");
    else {
      const since = `since ${isoTime(doubt.sinceMs)}: ${doubt.because}`;
      output.row("journal.db", "warn", "in doubt", since);
      const taken = doubt.takenOver ? "taken over" : "being taken over";
      output.row("supervisor's orders", doubt.takenOver ? "good" : "warn", taken);
      for (const sale of doubt.ofNoOrder) output.row("sale of no order", "warn", "open", sale);
    }
    if (handingAgain)
      output.row("supervisor.db", "warn", "lost", "is being handed everything again");
    return exitCodes.ok;
  } catch (error) {
    if (!(error instanceof IpcError)) throw error;
    output.fault(`tp-manager does not answer (${error.message}): ./launch.sh status`);
    return exitCodes.unavailable;
  } finally {
    client.close();
  }
}
