import { createIpcClient } from "../../../src/shared/ipc/client.ts";
import { supervisorMessages } from "../../../src/shared/ipc/contract.ts";
import { openRunDirectory } from "../../../src/shared/ipc/run-directory.ts";
import { createLogger } from "../../../src/shared/logger.ts";
import { systemClock } from "../../../src/shared/time.ts";
import type { ApiOptions } from "../../../src/tp-manager/http/app.ts";
import { GatewayDesk } from "../../../src/tp-manager/supervisor/gateway-desk.ts";
import { createGatewayLink } from "../../../src/tp-manager/supervisor/gateway-link.ts";
import type { House } from "../../support/payment-house.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** The gateway's part of the API with a supervisor that was never started. */
export function withoutSupervisor(
  at: House,
): Pick<ApiOptions, "supervisor" | "gateway" | "gatewayLookupLimitMs"> {
  const folder = openRunDirectory(temporaryFolder());
  const supervisor = createIpcClient(folder, "supervisor", supervisorMessages, systemClock);
  const link = createGatewayLink(supervisor, 1_000);
  const log = createLogger({ program: "test", level: "error" });
  const { attempts, returns } = at.journal;
  const gateway = new GatewayDesk({ attempts, returns, link, clock: at.clock, log });
  return { supervisor, gateway, gatewayLookupLimitMs: 1_000 };
}
