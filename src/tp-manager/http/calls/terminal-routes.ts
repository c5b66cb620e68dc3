import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError } from "../../../shared/errors.ts";
import { currencyOf, formatMajor } from "../../../shared/money.ts";
import type { ApiOptions } from "../app.ts";
import { sendOne } from "../envelope.ts";

/** The terminal's own affairs: restart, end of day, and its replacement by another one. */
export function installTerminalRoutes(app: FastifyInstance, options: ApiOptions): void {
  const { desk } = options;
  const exponent = currencyOf(options.defaultCurrency)?.exponent ?? 2;

  app.post("/terminal/accept", (call, reply) => {
    requireOwnOperator(call, options);
    const identity = desk.gate.accept();
    const name = identity.terminalId || identity.serialNumber || "without a name";
    return sendOne(reply, 200, { status: "Success", message: `Terminal ${name} is accepted.` });
  });

  app.route({
    method: ["GET", "POST"],
    url: "/reset",
    async handler(call, reply) {
      requireOperator(call, options);
      await desk.upkeep.reset();
      const message = "The terminal has restarted and is registered.";
      return sendOne(reply, 200, { status: "Success", message });
    },
  });

  app.route({
    method: ["GET", "POST"],
    url: "/tlc",
    async handler(call, reply) {
      requireOperator(call, options);
      const { applications, ticket } = await desk.upkeep.telecollect();
      return sendOne(reply, 200, {
        NbApp: String(applications.length),
        App: applications.map(({ name, status, count, sumMinor }) => ({
          Name: name,
          Status: status,
          Count: String(count),
          Sum: formatMajor(sumMinor, exponent),
        })),
        ticket,
      });
    },
  });
}

/** docs/design.md 5.14: with an operator pair, maintenance needs it. */
export function requireOperator({ role }: FastifyRequest, { operator }: ApiOptions): void {
  if (operator !== undefined && role !== "operator") throw new AppError("OPERATOR_REQUIRED");
}

/**
 * What the kiosk's pair may never do: without an operator pair nobody may (docs/design.md 5.14).
 */
export function requireOwnOperator(call: FastifyRequest, options: ApiOptions): void {
  if (options.operator === undefined) {
    throw new AppError("OPERATOR_REQUIRED", "Set OPERATOR_LOGIN and OPERATOR_PWD for this call.");
  }
  requireOperator(call, options);
}
