import { AppError } from "../../shared/errors.ts";
import { type IpcClient, IpcError } from "../../shared/ipc/client.ts";
import type { RequestOf, ResponseOf, supervisorMessages } from "../../shared/ipc/contract.ts";

type Messages = typeof supervisorMessages;
export type SupervisorClient = Pick<IpcClient<Messages>, "call">;

/** The supervisor answers these from its database. */
export const ANSWER_LIMIT_MS = 5_000;

/** Asks the supervisor something that moves no money. Throws SUPERVISOR_UNAVAILABLE. */
export async function ask<K extends keyof Messages & string>(
  client: SupervisorClient,
  name: K,
  request: RequestOf<Messages, K>,
  limitMs = ANSWER_LIMIT_MS,
): Promise<ResponseOf<Messages, K>> {
  try {
    return await client.call(name, request, limitMs);
  } catch (error) {
    if (!(error instanceof IpcError)) throw error;
    throw new AppError("SUPERVISOR_UNAVAILABLE", `The supervisor: ${error.message}`, {
      details: { failure: error.failure },
      cause: error,
    });
  }
}
