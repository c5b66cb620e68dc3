import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { AppError } from "../../shared/catalog/errors.ts";
import { type ApiOptions, createInstance, openCalls } from "../http/app.ts";
import { checked } from "../http/body/input.ts";
import { Credentials, refuseLogin } from "../http/door/access.ts";
import { pageLimits } from "../http/door/server-limits.ts";
import {
  installSessionDoor,
  SESSION_IDLE_MS,
  type Sessions,
  tokenOf,
} from "../http/door/sessions.ts";
import { send, success } from "../http/envelope.ts";
import { serveFiles } from "../http/static-files.ts";
import { keepAuditEntries } from "./audit-entries.ts";
import { englishTexts, pagesFolder } from "./english-texts.ts";

const shortText = z.string("must be a text").max(512, "is too long");
const pair = z.strictObject({ login: shortText, password: shortText });

/**
 * Returns the operator's console (docs/console.md): its pages, log-in and log-out, and below `/api`
 * every call of the local API, with sessions instead of Basic authentication. It opens no port, so
 * that tests can use `inject`.
 */
export function createConsole(options: ApiOptions): FastifyInstance {
  const { clock, log } = options;
  const app = createInstance(options, pageLimits);
  const sessions = installSessionDoor(app, options);
  keepAuditEntries(app, options.auditEntries, clock, log);
  serveFiles(app, pagesFolder, (path) => {
    const [, part] = /^texts\/(.*)en\.json$/.exec(path) ?? [];
    return part === undefined ? undefined : JSON.stringify(englishTexts(part));
  });
  installLogIn(app, sessions, options);
  openCalls(app, options, "/api");
  return app;
}

function installLogIn(app: FastifyInstance, sessions: Sessions, options: ApiOptions): void {
  const credentials = new Credentials(options.kiosk, options.operator);
  const sessionOf = (login: string, role: string) => ({
    ...success,
    login,
    role,
    idleSeconds: SESSION_IDLE_MS / 1000,
    /** Whether the operator has a login; without one, some calls are forbidden to everybody. */
    hasOperator: options.operator !== undefined,
  });
  app.post("/session", { config: { open: "log-in" } }, async (request, reply) => {
    const { login, password } = checked(pair, request.body);
    const role = credentials.roleOf(login, password);
    // The kiosk's login is refused here if there is an operator's login.
    const isGood = role === "operator" || (role === "kiosk" && options.operator === undefined);
    if (role === undefined || !isGood) return await refuseLogin(options.failures, login, reply);
    app.connections.trust(request.raw.socket);
    return send(reply, 200, { ...sessionOf(login, role), token: sessions.open(login, role) });
  });
  app.get("/session", (request, reply) => {
    const { session } = request;
    if (session === null) throw new AppError("UNAUTHORIZED");
    return send(reply, 200, sessionOf(session.login, session.role));
  });
  app.delete("/session", (request, reply) => {
    sessions.close(tokenOf(request));
    return send(reply, 200, success);
  });
}
