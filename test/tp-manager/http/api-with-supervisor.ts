import { onTestFinished } from "vitest";
import { createIpcClient } from "../../../src/shared/ipc/client.ts";
import { supervisorMessages } from "../../../src/shared/ipc/contract.ts";
import { openRunDirectory } from "../../../src/shared/ipc/run-directory.ts";
import { startIpcServer } from "../../../src/shared/ipc/server.ts";
import { createLogger } from "../../../src/shared/process/logger.ts";
import { systemClock } from "../../../src/shared/time.ts";
import { supervisorHandlers } from "../../../src/supervisor/intake/message-handlers.ts";
import type { Pair } from "../../../src/tp-manager/http/door/access.ts";
import { FailureDelay } from "../../../src/tp-manager/http/door/failure-delay.ts";
import { GatewayOperations } from "../../../src/tp-manager/supervisor/gateway-operations.ts";
import { type Poll, returnPoll } from "../../../src/tp-manager/supervisor/polls.ts";
import { SupervisorLink } from "../../../src/tp-manager/supervisor/supervisor-link.ts";
import { openRig, type RigOptions } from "../../supervisor/supervisor-rig.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { house } from "../../support/house/payment-house.ts";
import { maintenanceForTest } from "./maintenance-for-test.ts";
import { monitorOf } from "./rig.ts";
import { createWatchedApi } from "./watched-api.ts";

const kiosk: Pair = { login: "kiosk", password: "secret" };

/** The local API before a whole supervisor, with a real local socket between them. */
export async function apiWithSupervisor(
  options: RigOptions & { readonly operator?: Pair } = {},
): Promise<ApiWithSupervisor> {
  const rig = await openRig(options);
  const at = house();
  const runDirectory = openRunDirectory(temporaryFolder());
  const ipc = await startIpcServer({
    runDirectory,
    program: "supervisor",
    messages: supervisorMessages,
    handlers: supervisorHandlers({
      ...rig,
      requestStop: () => {},
    }),
    log: rig.log,
  });
  const client = createIpcClient(runDirectory, "supervisor", supervisorMessages, systemClock);
  const supervisor = new SupervisorLink(client.call, 30_000);
  const { journal, clock } = at;
  const gateway = new GatewayOperations({ ...at, link: supervisor, log: rig.log });
  const returns = returnPoll(journal.returns, supervisor, clock, rig.log);
  const app = await createWatchedApi({
    ...at,
    monitor: monitorOf(at),
    gateway,
    days: journal.days,
    port: 8765,
    kiosk,
    operator: options.operator,
    allowedOrigins: [],
    failures: new FailureDelay(systemClock),
    auditEntries: journal.auditEntries,
    acknowledged: journal.acknowledged,
    maintenance: maintenanceForTest(),
    defaultCurrency: "EUR",
    supervisor,
    clock: systemClock,
    log: createLogger({ program: "test", level: "error" }),
    requestStop: () => {},
  });
  onTestFinished(async () => {
    await app.close();
    rig.watch.close();
    await ipc.close();
    client.close();
  });
  const call: Call = async (method, url, payload, pair = options.operator ?? kiosk) => {
    const basic = Buffer.from(`${pair.login}:${pair.password}`).toString("base64");
    const response = await app.inject({
      method,
      url,
      headers: { host: "localhost:8765", authorization: `Basic ${basic}` },
      ...(payload === undefined ? {} : { payload }),
    });
    const body = response.json();
    return { http: response.statusCode, headers: response.headers, body, one: body[0] };
  };
  return { rig, at, supervisor, gateway, returns, call, kiosk, stopSupervisor: () => ipc.close() };
}

type Call = (
  method: "GET" | "POST",
  url: string,
  payload?: object,
  pair?: Pair,
) => Promise<{
  http: number;
  headers: Record<string, unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: a parsed body
  body: any[];
  // biome-ignore lint/suspicious/noExplicitAny: a parsed body
  one: any;
}>;

export interface ApiWithSupervisor {
  readonly rig: Awaited<ReturnType<typeof openRig>>;
  readonly supervisor: SupervisorLink;
  readonly gateway: GatewayOperations;
  readonly returns: Poll;
  readonly at: ReturnType<typeof house>;
  readonly call: Call;
  readonly kiosk: Pair;
  /** Nobody answers any more. */
  readonly stopSupervisor: () => Promise<void>;
}
