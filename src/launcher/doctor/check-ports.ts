import { type Finding, finding } from "../../shared/catalog/findings.ts";
import { type Config, consolePortOf } from "../../shared/config/schema.ts";
import { listenFault } from "../processes/network.ts";
import type { ProgramState } from "../processes/program-state.ts";

/** Free, or held by our own tp-manager. */
export async function checkLocalPort(port: number, tpManager: ProgramState): Promise<Finding> {
  const { state } = tpManager;
  const own = state === "running" && "port" in tpManager.status ? tpManager.status.port : undefined;
  if (own === port) return finding("port-ours", { port });
  const fault = await loopbackFault(port);
  if (fault === "EADDRINUSE" && state === "silent") {
    return finding("port-in-use", { port });
  }
  if (fault === "EADDRINUSE") return finding("port-taken", { port });
  if (fault !== undefined) return finding("port-unusable", { port, detail: fault });
  if (own === undefined) return finding("port-free", { port });
  return finding("port-changed", { before: own, port });
}

type PortConfig = Pick<Config, "CONSOLE_PORT" | "LOCAL_PORT" | "NOTIFICATION_PORT" | "KIOSK_PORT">;

/** The ports of the pages that the setup file asks for: a page that is not there fails. */
export async function checkPages(config: PortConfig, tpManager: ProgramState): Promise<Finding[]> {
  const asked = [
    { name: "console", setting: "CONSOLE_PORT", port: consolePortOf(config) ?? 0 },
    { name: "kiosk pages", setting: "KIOSK_PORT", port: config.KIOSK_PORT },
  ].filter(({ port }) => port !== 0);
  return await Promise.all(asked.map((page) => checkPage(page, tpManager)));
}

async function checkPage(
  { name, setting, port }: { name: string; setting: string; port: number },
  tpManager: ProgramState,
): Promise<Finding> {
  const isRunning = tpManager.state === "running";
  const pages = isRunning && "pages" in tpManager.status ? tpManager.status.pages : undefined;
  const page = pages?.find((one) => one.name === name && one.port === port);
  const told = { setting, port };
  if (page?.fault === null) return finding("page-served", told);
  const fault = await loopbackFault(port);
  if (fault === "EADDRINUSE") {
    return finding(tpManager.state === "silent" ? "page-in-use" : "page-taken", told);
  }
  const detail = fault ?? page?.fault;
  if (detail) return finding("page-missing", { ...told, detail });
  return finding(isRunning ? "page-changed" : "page-free", told);
}

/** Codes of a machine without this address. */
const missing: ReadonlySet<string> = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT", "EINVAL"]);

/** Why nobody could listen there, on either loopback address; undefined: somebody could. */
async function loopbackFault(port: number): Promise<string | undefined> {
  const six = await listenFault("::1", port);
  return (await listenFault("127.0.0.1", port)) ?? (six && missing.has(six) ? undefined : six);
}
