import type { IpcClient } from "../../../src/shared/ipc/client.ts";
import type { Handlers, supervisorMessages } from "../../../src/shared/ipc/contract.ts";
import { SupervisorLink } from "../../../src/tp-manager/supervisor/supervisor-link.ts";

type Messages = typeof supervisorMessages;

/** A link to a supervisor of a few handlers, without a socket; every other message is a fault. */
export function answeringLink(handlers: Partial<Handlers<Messages>>): SupervisorLink {
  const call: IpcClient<Messages>["call"] = async (name, request) => {
    const handler = handlers[name];
    if (!handler) throw new Error(`the test expects no ${name}`);
    return await handler(request);
  };
  return new SupervisorLink(call, 30_000);
}
