import { join } from "node:path";
import type { Config } from "../shared/config/config.ts";
import { type ProxyChoice, proxyChoice } from "../shared/config/proxy.ts";
import { takesRequests } from "../shared/config/schema.ts";
import { createIpcClient, IpcError } from "../shared/ipc/client.ts";
import { FLEET_PAGE_MAX, fleetMessages } from "../shared/ipc/fleet-messages.ts";
import type { AlarmLog } from "../shared/process/logger.ts";
import { logFileOf, type ProgramContext } from "../shared/program/lifecycle.ts";
import { readOr } from "../shared/read-or.ts";
import { random } from "../shared/time.ts";
import { isDelivery } from "../shared/version-files.ts";
import { installationId } from "../update/update-state.ts";
import type { BrokerFiles, BrokerSettings, Incoming } from "./fleet/broker.ts";
import { Fleet } from "./fleet/fleet.ts";
import { machineHere } from "./fleet/fleet-facts.ts";
import { FleetFigures } from "./fleet/fleet-figures.ts";
import { FleetLink } from "./fleet/fleet-link.ts";
import { FleetNews } from "./fleet/fleet-news.ts";
import { FleetRequests, type UploadBundle } from "./fleet/fleet-requests.ts";
import type { TpManagerReply } from "./fleet/fleet-state.ts";
import { openFleetStore } from "./fleet/fleet-store.ts";
import { threadedConnector } from "./fleet/threaded-broker.ts";
import type { FleetFiles } from "./fleet-files.ts";
import { HttpTransport } from "./gateway/http-transport.ts";
import type { SupervisorStatus } from "./intake/supervisor-status.ts";
import { uploadSupportBundle } from "./support-bundle.ts";
import { updatesIn } from "./updates/fleet-updates.ts";

/** How long tp-manager may take to answer the fleet's question; it normally answers at once. */
const ASK_LIMIT_MS = 3_000;

/**
 * Starts the telemetry to a fleet (docs/fleet.md 1.1). After a fault the kiosk works without its
 * fleet. The fleet part can ask tp-manager one question, and gets no object that could drive the
 * terminal. The function that it returns reads the state of the connection.
 */
export function startFleet(
  context: ProgramContext,
  log: AlarmLog,
  certificates: FleetFiles,
  status: () => SupervisorStatus,
  note: (ask: string, id: string) => void,
): (() => SupervisorStatus["fleet"]) | undefined {
  const { config, installation, runDirectory, clock, onStop } = context;
  const { dataDirectory } = installation;
  try {
    const proxyFor = proxyChoice(config, process.env);
    const files = () => certificates.current;
    // A disk that cannot be written now only keeps the id of a new installation from being stored.
    const installation = readOr(undefined, () => installationId(dataDirectory));
    const kiosk = config.FLEET_ID ?? installation;
    if (kiosk === undefined) throw new Error("the id of this installation cannot be stored");
    const broker = brokerSettings(config, kiosk, proxyFor);
    const store = openFleetStore(join(dataDirectory, "fleet.db"), clock, log);
    onStop("fleet database", () => store.close());
    const client = createIpcClient(runDirectory, "tp-manager", fleetMessages, clock);
    onStop("fleet questions", () => client.close());
    const ask = async (after: number | null, figures: boolean): Promise<TpManagerReply> => {
      try {
        const question = { after, limit: FLEET_PAGE_MAX, figures };
        return await client.call("fleet-news", question, ASK_LIMIT_MS);
      } catch (error) {
        return error instanceof IpcError && error.failure === "unreachable" ? "silent" : "slow";
      }
    };
    const connect = threadedConnector(clock);
    const upload = uploader(context, kiosk, certificates, status, proxyFor);
    const isUpdated = isDelivery && config.UPDATE_URL !== undefined;
    const updates = isUpdated ? updatesIn(dataDirectory, clock, log) : undefined;
    const onRequest = (message: Incoming): void => void requests.take(message);
    const { FLEET_LABELS: labels = {} } = config;
    const parts = { onRequest, labels, store, clock, log, random };
    const link = new FleetLink({ broker, installation, files, connect, ...parts });
    const { commands } = broker;
    const actions = { updates, upload, note };
    const requests = new FleetRequests({ commands, link, store, ...actions, clock, log });
    const news = new FleetNews(store, kiosk, config.FLEET_PAYMENTS);
    const machine = machineHere(dataDirectory, context.startedAfter, clock);
    const figures = new FleetFigures({ link, store, machine, kiosk, clock, log });
    const sources = { store, machine, ask, status, clock, log, random };
    const fleet = new Fleet({ link, news, requests, figures, ...sources });
    onStop("fleet", () => fleet.stop());
    fleet.start();
    return () => link.status;
  } catch (error) {
    log.error({ err: error }, "the link to the fleet could not be started");
    return undefined;
  }
}

/** Returns the function that uploads support bundles; undefined: FLEET_UPLOAD_URL is not set. */
function uploader(
  { config, installation, clock, onStop }: ProgramContext,
  kiosk: string,
  files: FleetFiles,
  facts: () => SupervisorStatus,
  proxyFor: ProxyChoice,
): UploadBundle | undefined {
  const { FLEET_UPLOAD_URL: address } = config;
  if (address === undefined) return undefined;
  const stop = new AbortController();
  onStop("fleet uploads", () => stop.abort());
  const logFiles = [logFileOf(installation, "tp-manager"), logFileOf(installation, "supervisor")];
  const parts = { address, kiosk, logFiles, config, facts, clock, signal: stop.signal };
  return async (requestId) => {
    const certificates = files.current?.authorities ?? [];
    const transport = new HttpTransport(clock, { certificates, proxyFor });
    const sent = uploadSupportBundle({ ...parts, transport }, requestId);
    return await sent.finally(() => transport.close());
  };
}

function brokerSettings(
  config: Config,
  kiosk: string,
  proxyFor: ProxyChoice,
): Omit<BrokerSettings, keyof BrokerFiles> {
  return {
    url: config.FLEET_URL ?? "",
    kiosk,
    user: config.FLEET_USER,
    password: config.FLEET_PASSWORD,
    commands: takesRequests(config),
    mqtt: config.FLEET_MQTT,
    proxy: proxyFor(config.FLEET_URL ?? ""),
  };
}
