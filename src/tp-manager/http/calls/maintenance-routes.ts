import type { FastifyInstance } from "fastify";
import { osName, versionNumber } from "../../../shared/installation.ts";
import { type TerminalStatus, TerminalUnavailable } from "../../terminal/terminal.ts";
import type { ApiOptions } from "../app.ts";
import { sendOne } from "../envelope.ts";
import { requireOperator } from "./terminal-routes.ts";

/** How long `/check` waits for the terminal. */
const CHECK_LIMIT_MS = 10_000;

/** The type of an unattended terminal's connector (docs/design.md 12.8). */
const APPLICATION_TYPE = "tpa";

export function installMaintenanceRoutes(app: FastifyInstance, options: ApiOptions): void {
  const { desk, terminal } = options;

  app.route({
    method: ["GET", "POST"],
    url: "/cancel",
    async handler(_call, reply) {
      await desk.cancel();
      return sendOne(reply, 200, {
        status: "Success",
        cancelled: true,
        message: "The terminal was asked to cancel; the payment's own answer decides.",
      });
    },
  });

  app.route({
    method: ["GET", "POST"],
    url: "/stop",
    handler(call, reply) {
      requireOperator(call, options);
      const running = desk.turn.current !== undefined;
      desk.turn.close();
      reply.raw.once("close", () => options.requestStop("/stop"));
      return sendOne(reply, 200, {
        status: "Success",
        stopped: !running,
        message: running
          ? "Stops when the running payment has ended."
          : "The terminal manager stops.",
      });
    },
  });

  app.get("/version", (_call, reply) => sendOne(reply, 200, versionBody()));

  // `/config` has the three fields of `/version` (docs/design.md 12.8), so the terminal's own
  // version has a name of its own.
  app.get("/config", (_call, reply) => {
    const { version: terminalVersion, ...identity } = terminal.state.identity;
    return sendOne(reply, 200, { ...identity, terminalVersion, ...versionBody() });
  });

  app.get("/check", async (_call, reply) => sendOne(reply, 200, await check(options)));
}

/** While a payment runs, and without a link, from what is known: nothing goes on the wire. */
async function check({ desk, terminal }: ApiOptions): Promise<TerminalStatus> {
  const { link, linkProblem, status } = terminal.state;
  const noLink: TerminalStatus = {
    cr: "9",
    card: "0",
    call: "0",
    periph: "0",
    detail: linkProblem ?? link,
  };
  if (link !== "connected") return noLink;
  if (desk.turn.current !== undefined) {
    return { ...(status ?? noLink), cr: "1", detail: "a payment is running" };
  }
  try {
    return await desk.check(AbortSignal.timeout(CHECK_LIMIT_MS));
  } catch (error) {
    if (error instanceof TerminalUnavailable && error.reason === "busy") {
      return { ...(status ?? noLink), cr: "1", detail: error.message };
    }
    return { ...noLink, detail: (error as Error).message };
  }
}

function versionBody(): { version: string; type: string; os: string } {
  const os = osName();
  return { version: `${versionNumber}-${APPLICATION_TYPE}-${os}`, type: APPLICATION_TYPE, os };
}
