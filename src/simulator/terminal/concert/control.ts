import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { Order } from "./machine/order.ts";

/** The part of a terminal that acts of its own accord. */
interface Spontaneous {
  /** Sells without being asked and tells it; false when that is impossible now. */
  sell(order: Order, reference: string): boolean;
  /** Tells the last reply again; false when there is none, or something runs. */
  tellAgain(): boolean;
}

export const ownRoutes = {
  "POST /sale":
    '{"amountMinor": 1200, "currency": "978", "private": "A1"} a sale that no register asked ' +
    "for, told by the terminal's own ENQ",
  "POST /again": "tell the last reply once more, by the terminal's own ENQ",
};

const AMOUNT_MAX = 99_999_999;

/** Routes of the control API that only these terminals have. */
export function addOwnRoutes(server: FastifyInstance, terminal: Spontaneous): void {
  const sale = z.strictObject({
    amountMinor: z.number().int().min(1).max(AMOUNT_MAX),
    currency: z
      .string()
      .regex(/^\d{3}$/)
      .default("978"),
    private: z
      .string()
      .regex(/^[ -~]{0,10}$/)
      .default(""),
  });
  server.post("/sale", async (request, reply) => {
    const { amountMinor, currency, private: reference } = sale.parse(request.body);
    const order: Order = { action: "debit", amountMinor, currency };
    if (terminal.sell(order, reference)) return { selling: true };
    return await reply.code(409).send({ error: "a payment runs, or there are no sessions" });
  });
  server.post("/again", async (_request, reply) => {
    if (terminal.tellAgain()) return { telling: true };
    return await reply.code(409).send({ error: "nothing was told, or a payment runs" });
  });
}
