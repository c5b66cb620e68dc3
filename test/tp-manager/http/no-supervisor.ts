import { createIpcClient } from "../../../src/shared/ipc/client.ts";
import { supervisorMessages } from "../../../src/shared/ipc/contract.ts";
import { openRunDirectory } from "../../../src/shared/ipc/run-directory.ts";
import { systemClock } from "../../../src/shared/time.ts";
import type { ApiOptions } from "../../../src/tp-manager/http/app.ts";
import { GatewayOperations } from "../../../src/tp-manager/supervisor/gateway-operations.ts";
import { SupervisorLink } from "../../../src/tp-manager/supervisor/supervisor-link.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import type { House } from "../../support/house/payment-house.ts";

/** The gateway's part of the API with a supervisor that was never started. */
export function withoutSupervisor(at: House): Pick<ApiOptions, "supervisor" | "gateway"> {
  const folder = openRunDirectory(temporaryFolder());
  const client = createIpcClient(folder, "supervisor", supervisorMessages, systemClock);
  const supervisor = new SupervisorLink(client.call, 1_000);
  const gateway = new GatewayOperations({ ...at, link: supervisor });
  return { supervisor, gateway };
}
