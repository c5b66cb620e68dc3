import { join } from "node:path";
import type { Config } from "../shared/config/config.ts";
import { versionNumber } from "../shared/installation.ts";
import { supervisorMessages } from "../shared/ipc/contract.ts";
import { startIpcServer } from "../shared/ipc/server.ts";
import { type ProgramContext, runProgram } from "../shared/lifecycle.ts";
import { openDatabase } from "../shared/sqlite.ts";
import { chance } from "../shared/time.ts";
import { createGatewayClient, type GatewaySettings } from "./gateway/gateway-client.ts";
import { Intake } from "./intake/intake.ts";
import { type HandlerParts, supervisorHandlers } from "./intake/message-handlers.ts";
import { DeliveryWatch } from "./outbox/delivery-watch.ts";
import { Forwarder } from "./outbox/forwarder.ts";
import { OutboxDesk } from "./outbox/outbox-desk.ts";
import { supervisorMigrations } from "./outbox/outbox-schema.ts";
import { OutboxStore } from "./outbox/outbox-store.ts";

/** Running tries get this long to end when the program stops; then they are abandoned. */
const RUNNING_TRIES_GRACE_MS = 3_000;
const STOP_DEADLINE_MS = 10_000;

await runProgram("supervisor", STOP_DEADLINE_MS, async (context) => {
  const { config, installation, log, clock, onStop } = context;

  const database = openDatabase(
    join(installation.dataDirectory, "supervisor.db"),
    supervisorMigrations,
  );
  onStop("database", () => database.close());
  const store = new OutboxStore(database);
  const desk = new OutboxDesk(database);

  const gateway = createGatewayClient(gatewaySettings(config), clock, log);
  onStop("gateway client", () => gateway.close());

  const watch = new DeliveryWatch(clock);
  const forwarder = new Forwarder({ store, gateway, watch, clock, log, chance });
  forwarder.start();
  onStop("forwarder", () => forwarder.stop(RUNNING_TRIES_GRACE_MS));

  const intake = new Intake({
    store,
    clock,
    log,
    onStored: (transactionId) => forwarder.tryAtOnce(transactionId),
  });
  await startMessages(context, { intake, store, desk, watch, forwarder });
  onStop("waiting messages", () => watch.close());

  // The soap package takes 0.1 s and more to load: after the program is ready, before it is needed.
  const loading = clock.startTimer("load the gateway client", 0, () => void gateway.ready());
  onStop("loading the gateway client", () => loading.clear());
});

async function startMessages(
  { runDirectory, log, clock, onStop, requestStop }: ProgramContext,
  parts: Pick<HandlerParts, "intake" | "store" | "desk" | "watch"> & { forwarder: Forwarder },
): Promise<void> {
  const server = await startIpcServer({
    runDirectory,
    program: "supervisor",
    messages: supervisorMessages,
    handlers: supervisorHandlers({
      ...parts,
      clock,
      log,
      version: versionNumber,
      paused: () => parts.forwarder.paused,
      requeued: (transactionId) => parts.forwarder.requeued(transactionId),
      requestStop,
    }),
    log,
  });
  onStop("local messages", () => server.close());
}

function gatewaySettings(config: Config): GatewaySettings {
  return {
    url: config.GATEWAY_URL,
    timeoutMs: config.GATEWAY_TIMEOUT,
    login: config.GATEWAY_LOGIN,
    password: config.GATEWAY_PWD,
    websiteId: config.GATEWAY_WEBSITE_ID,
    categoryId: config.GATEWAY_CATEGORY_ID,
    rating: config.GATEWAY_RATING,
    locale: config.GATEWAY_LOCALE,
    customerIp: config.GATEWAY_CUSTOMER_IP,
    callbackUrl: config.GATEWAY_CALLBACK_URL,
  };
}
