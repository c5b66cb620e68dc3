import type { IpcClient } from "../../shared/ipc/client.ts";
import type { supervisorMessages } from "../../shared/ipc/contract.ts";
import type { SupervisorLink } from "./hand-off.ts";

/** The supervisor writes to disk before it answers; a busy disk is waited for. */
const STORE_LIMIT_MS = 5_000;
/** What a delivery question may take beyond the wait it asks for. */
const ANSWER_MARGIN_MS = 500;

/** The supervisor over the local socket. */
export function createSupervisorLink(client: IpcClient<typeof supervisorMessages>): SupervisorLink {
  return {
    async store(transaction) {
      await client.call("store-transaction", { transaction }, STORE_LIMIT_MS);
    },
    async withdraw(transaction) {
      const { outcome } = await client.call(
        "withdraw-transaction",
        { transaction },
        STORE_LIMIT_MS,
      );
      return outcome;
    },
    async delivery(transactionId, waitMs) {
      const limitMs = waitMs + ANSWER_MARGIN_MS;
      const answer = await client.call("transaction-delivery", { transactionId, waitMs }, limitMs);
      return answer.known ? answer.state : null;
    },
  };
}
