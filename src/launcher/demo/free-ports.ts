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

/** The earlier ports where they are still free, else the usual ones, else any. */
export async function choosePorts(earlier: DemoPorts | undefined): Promise<DemoPorts> {
  const wanted = earlier ?? usualPorts;
  const taken = new Set<number>();
  const choose = async (port: number): Promise<number> => {
    let chosen = await listenOnce(port);
    // Any free port, but not one that another part was just given.
    while (chosen === undefined || taken.has(chosen)) chosen = await listenOnce(0);
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

/** The port that could be listened on, or undefined when it is in use. */
function listenOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen({ port, host: "127.0.0.1" }, () => {
      const address = server.address();
      const chosen = typeof address === "object" && address !== null ? address.port : undefined;
      server.close(() => resolve(chosen));
    });
  });
}
