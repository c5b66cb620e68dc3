import { once } from "node:events";
import type { FastifyInstance } from "fastify";
import { exitCodes, ProgramExit } from "../../../shared/process/exit-codes.ts";
import type { Logger } from "../../../shared/process/logger.ts";
import { createServer } from "../../../shared/process/node-http.ts";
import { holderText } from "../../../shared/process/open-files.ts";
import type { Installation } from "../../../shared/program/installation.ts";
import { BACKLOG, harden, refuseUnparsed } from "./server-limits.ts";

/**
 * Listens on 127.0.0.1 and, if the machine has it, on ::1 only (docs/design.md 5.1). Throws {@link
 * ProgramExit} with port and setup file if the port is in use on either; then listens on neither.
 */
export async function listenOnLoopback(
  app: FastifyInstance,
  port: number,
  { log, installation }: { readonly log: Logger; readonly installation?: Installation },
  name = "LOCAL_PORT",
): Promise<{ close(): Promise<void> }> {
  const todo = `choose another ${name} in ${installation?.configFile ?? "the setup file"}`;
  await listen(`${name} ${port} on 127.0.0.1`, todo, () =>
    app.listen({ host: "127.0.0.1", port, backlog: BACKLOG }),
  );
  const six = createServer(app.limits.http, app.routing);
  const { connections } = app;
  harden(six, connections);
  six.on("clientError", (error, socket) => refuseUnparsed(connections, error, socket));
  const hasSix = await listen(`${name} ${port} on ::1`, todo, () => {
    six.listen({ host: "::1", port, ipv6Only: true, backlog: BACKLOG });
    return once(six, "listening");
  }).then(
    () => true,
    async (error: unknown) => {
      if (!isMissing(error)) {
        connections.end();
        await app.close();
        throw error;
      }
      log.info("the server listens on 127.0.0.1 only, because this machine has no ::1");
      return false;
    },
  );
  return {
    async close() {
      connections.end();
      // The servers of both addresses close at once, because only `app.close` ends event streams.
      await Promise.all([hasSix ? six[Symbol.asyncDispose]() : undefined, app.close()]);
    },
  };
}

async function listen(what: string, todo: string, open: () => Promise<unknown>): Promise<void> {
  try {
    await open();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "EADDRINUSE" || code === "EACCES") {
      const [, port] = what.split(" ");
      const why = holderText(Number(port)) ?? "another program has it, or it needs privileges";
      const says = `${what} cannot be used (${code}): ${why}; ${todo}`;
      throw new ProgramExit(exitCodes.configuration, says);
    }
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return ["EADDRNOTAVAIL", "EAFNOSUPPORT", "EINVAL"].includes(
    (error as NodeJS.ErrnoException).code ?? "",
  );
}
