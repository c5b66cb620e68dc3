import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import type { DemoPorts } from "./demo-settings.ts";

/** Asked for on a fresh machine; any free one is taken instead when it is in use. */
const usualPorts: DemoPorts = {
  localApi: 8765,
  console: 8767,
  kiosk: 8768,
  terminal: 20_007,
  terminalControl: 20_008,
  gateway: 8766,
};

/** Any port comes from here: no system gives these to a program that asks for a free one. */
const FIRST_PORT = 20_100;
const END_OF_PORTS = 32_000;

/** The earlier ports where they are still free, else the usual ones, else any. */
export async function choosePorts(earlier: DemoPorts | undefined): Promise<DemoPorts> {
  const wanted = earlier ?? usualPorts;
  const taken = new Set<number>();
  const choose = async (port: number): Promise<number> => {
    let chosen = port;
    // Any free port, but not one that another part was just given.
    while (taken.has(chosen) || !(await isFree(chosen)))
      chosen = randomInt(FIRST_PORT, END_OF_PORTS);
    taken.add(chosen);
    return chosen;
  };
  return {
    localApi: await choose(wanted.localApi),
    console: await choose(wanted.console),
    kiosk: await choose(wanted.kiosk),
    terminal: await choose(wanted.terminal),
    terminalControl: await choose(wanted.terminalControl),
    gateway: await choose(wanted.gateway),
  };
}

/** On both addresses of this machine; one that the machine does not have is nobody's. */
async function isFree(port: number): Promise<boolean> {
  for (const host of ["127.0.0.1", "::1"]) if (!(await canListen(host, port))) return false;
  return true;
}

function canListen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) =>
      resolve(!["EADDRINUSE", "EACCES"].includes(error.code ?? "")),
    );
    server.listen({ port, host }, () => server.close(() => resolve(true)));
  });
}
