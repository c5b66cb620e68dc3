import { dirname } from "node:path";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { useTicket } from "../../shared/process/kiosk-ticket.ts";
import { type ApiOptions, createInstance, openCalls } from "../http/app.ts";
import { checked } from "../http/body/input.ts";
import { refuseLogin } from "../http/door/access.ts";
import { pageLimits } from "../http/door/server-limits.ts";
import { installSessionDoor } from "../http/door/sessions.ts";
import { send, success } from "../http/envelope.ts";
import { serveApp } from "./app-files.ts";

/** The time after which a session is over if no call had the header `user-active: yes`. */
const SESSION_IDLE_MS = 24 * 60 * 60_000;

const ticketBody = z.strictObject({ ticket: z.string("must be a text").max(100, "is too long") });

interface KioskOptions extends ApiOptions {
  /** The folder of the kiosk's pages (KIOSK_APP). */
  readonly folder: string;
  readonly runDirectory: string;
}

/**
 * Returns the server of the kiosk's own pages (docs/browser-kiosk.md 2): the files of a folder,
 * `POST /session`, which takes a ticket, and below `/api` the calls of the local API with the
 * kiosk's rights and never the operator's. The server opens no port, so that tests use `inject`.
 */
export function createKiosk(options: KioskOptions): FastifyInstance {
  const { clock, runDirectory, failures } = options;
  const app = createInstance(options, pageLimits);
  const sessions = installSessionDoor(app, options, SESSION_IDLE_MS);
  app.post("/session", { config: { open: "log-in" } }, async (request, reply) => {
    const { ticket } = checked(ticketBody, request.body);
    if (!useTicket(runDirectory, ticket, clock.now())) {
      return await refuseLogin(failures, "kiosk ticket", reply);
    }
    app.connections.trust(request.raw.socket);
    return send(reply, 200, { ...success, token: sessions.open("kiosk", "kiosk") });
  });
  serveApp(app, { folder: options.folder, dataDirectory: dirname(runDirectory) });
  // As with an operator's login: a kiosk's session has the kiosk's rights only.
  openCalls(app, options, "/api", true);
  return app;
}
