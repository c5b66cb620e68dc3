import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { IClientOptions } from "mqtt";
import { z } from "zod";
import { readEntries } from "../../src/shared/config/config-file.ts";
import { exitCodes } from "../../src/shared/process/exit-codes.ts";

const setupSchema = z.strictObject({
  /** The folder with fleet.txt, and with certificates, that `fleet enrol` makes for a reader. */
  access: z.string(),
  /** That of a second session, for figures: no alarm waits for them in the queue of the first. */
  figures: z.string(),
  /** The address of Prometheus' remote-write receiver, and headers that it needs. */
  write: z.url({ protocol: /^https?$/, error: "must be an http or https address" }),
  headers: z.record(z.string(), z.string()).optional(),
});
type BridgeSetup = z.infer<typeof setupSchema>;

/** What the bridge's code needs: Promise.withResolvers. */
const NODE_MIN = 22;

/** Ends the bridge with one line for its operator. */
export function endWrong(text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(exitCodes.configuration);
}

/** Reads bridge.json, with whole paths; ends the program if it cannot be used. */
export function readSetup(file: string | undefined): BridgeSetup {
  if (Number.parseInt(process.versions.node, 10) < NODE_MIN) {
    const why = `the bridge needs Node.js ${NODE_MIN} or newer, and this is ${process.version}`;
    return endWrong(`${why}: the folder runtimes of a delivery has one (docs/fleet-pack.md 1)`);
  }
  if (file === undefined) return endWrong("name the bridge's file: node bridge.js bridge.json");
  let given: unknown;
  try {
    given = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    return endWrong(`${file} cannot be read: ${(error as Error).message}`);
  }
  const { data, error } = setupSchema.safeParse(given);
  if (error) {
    const faults = error.issues.map(({ path, message }) => [...path, message].join(": "));
    return endWrong(`${file} is not as docs/fleet-pack.md 2 says: ${faults.join("; ")}`);
  }
  const at = (path: string): string => resolve(dirname(file), path);
  return { ...data, access: at(data.access), figures: at(data.figures) };
}

/** Returns how a session at the broker begins; ends the program if its files cannot be used. */
export function sessionOptions(folder: string): IClientOptions & { readonly url: string } {
  const at = (name: string): string => join(folder, name);
  /** Returns a file of the access; an empty object: there is none. */
  const own = (key: string, name: string) =>
    existsSync(at(name)) ? { [key]: readFileSync(at(name)) } : {};
  try {
    const { entries } = readEntries(readFileSync(at("fleet.txt"), "utf8"));
    const settings = Object.fromEntries(entries.map(({ name, value }) => [name, value]));
    const { FLEET_URL: url = "", FLEET_USER: username, FLEET_PASSWORD: password } = settings;
    const { protocol, hostname, port, pathname } = new URL(url);
    const isWeb = protocol === "wss:";
    const host = hostname.replace(/^\[|\]$/g, "");
    // The address is given in parts: the mqtt package parses a URL by a deprecated function.
    return {
      url,
      protocol: isWeb ? "wss" : "mqtts",
      host,
      hostname: host,
      port: Number(port) || (isWeb ? 443 : 8883),
      ...(isWeb && { path: pathname }),
      clientId: basename(folder),
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password }),
      ...own("ca", "fleet-ca.pem"),
      ...own("cert", "fleet.pem"),
      ...own("key", "fleet.key"),
    };
  } catch (error) {
    const heal = "./launch.sh fleet enrol makes this folder (docs/fleet-pack.md 1)";
    return endWrong(`the access ${folder} cannot be used: ${(error as Error).message}; ${heal}`);
  }
}
