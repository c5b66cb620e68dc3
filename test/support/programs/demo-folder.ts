import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DemoPorts } from "../../../src/launcher/demo/settings.ts";
import { freePort } from "./installation.ts";

/**
 * Makes a demo's data folder with ports of its own. A demo that is stopped for a moment would lose
 * the usual ports to the demo of another test file.
 */
export async function demoFolder(data: string): Promise<string> {
  mkdirSync(data, { recursive: true });
  const ports: DemoPorts = {
    localApi: await freePort(),
    console: await freePort(),
    kiosk: await freePort(),
    terminal: await freePort(),
    terminalControl: await freePort(),
    gateway: await freePort(),
    notifications: await freePort(),
  };
  writeFileSync(join(data, "demo.json"), JSON.stringify(ports), { mode: 0o600 });
  return data;
}
