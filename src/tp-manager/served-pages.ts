import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { consolePortOf, portClashes } from "../shared/config/schema.ts";
import { exitCodes, ProgramExit } from "../shared/process/exit-codes.ts";
import type { ProgramContext } from "../shared/program/lifecycle.ts";
import { createConsole } from "./console/console.ts";
import type { ApiOptions } from "./http/app.ts";
import { listenOnLoopback } from "./http/door/loopback-server.ts";
import { createKiosk } from "./kiosk/kiosk.ts";

/** Opens the pages that the setup file names. A page that cannot be opened prevents no payment. */
export async function openPages(context: ProgramContext, options: ApiOptions) {
  const opened = [await openConsole(context, options), await openKiosk(context, options)];
  return opened.filter((page) => page !== undefined);
}

async function openConsole(context: ProgramContext, options: ApiOptions) {
  const { config, onStop } = context;
  const name = "console";
  const port = consolePortOf(config);
  if (port === undefined) return undefined;
  try {
    refuseClash(config, "CONSOLE_PORT");
    const app = createConsole({ ...options, port });
    const listening = await listenOnLoopback(app, port, context, "CONSOLE_PORT");
    onStop("console", () => listening.close());
    options.log.info({ port }, "the operator's console is served on its port");
    return { name, port, fault: null };
  } catch (error) {
    const { message } = error as Error;
    options.log.error(`the operator's console cannot be served: ${message}`);
    return { name, port, fault: message };
  }
}

async function openKiosk(context: ProgramContext, options: ApiOptions) {
  const { config, onStop, runDirectory } = context;
  const name = "kiosk pages";
  const { KIOSK_PORT: port, KIOSK_APP: folder } = config;
  if (port === 0) return undefined;
  try {
    if (folder === undefined)
      throw new ProgramExit(exitCodes.configuration, "KIOSK_APP is missing");
    refuseClash(config, "KIOSK_PORT");
    const app = createKiosk({ ...options, port, folder, runDirectory });
    const listening = await listenOnLoopback(app, port, context, "KIOSK_PORT");
    onStop("kiosk pages", () => listening.close());
    // From a new id the script that starts the browser learns that earlier sessions are over.
    writeFileSync(join(runDirectory, "kiosk-started"), `${randomUUID()}\n`, { mode: 0o600 });
    options.log.info({ port, folder }, "the kiosk's own pages are served on their port");
    return { name, port, fault: null };
  } catch (error) {
    const { message } = error as Error;
    options.log.error(`the kiosk's own pages cannot be served: ${message}`);
    return { name, port, fault: message };
  }
}

/** Throws if a page's port is taken. A kiosk may sell by its pages, before notifications come. */
function refuseClash(config: ProgramContext["config"], page: "CONSOLE_PORT" | "KIOSK_PORT"): void {
  const clash = portClashes(config).find(({ name }) => name === page);
  if (!clash || (page === "KIOSK_PORT" && clash.other === "NOTIFICATION_PORT")) return;
  throw new ProgramExit(exitCodes.configuration, `${page} ${clash.port} is ${clash.other} too`);
}
