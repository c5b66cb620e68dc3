import type { FastifyInstance, FastifyRequest } from "fastify";
import { AmountError, parseAmount } from "../../../shared/money.ts";
import { RECEIPT_AMOUNT_DIGITS } from "../../../shared/receipt.ts";
import type { ApiOptions } from "../app.ts";
import { JsonNumber } from "../json-body.ts";
import { fault, members, text } from "./body-members.ts";
import { assertNotReturnedElsewhere } from "./gateway-routes.ts";
import { sendResult } from "./payment-routes.ts";

type Call = FastifyRequest<{ Body: Record<string, unknown> | undefined }>;

export function installAfterSaleRoutes(app: FastifyInstance, options: ApiOptions): void {
  const { orders, afterSale } = options;
  app.post("/reversal", async (call: Call, reply) => {
    const orderId = text("orderId", members(call, ["orderId"])["orderId"]);
    await assertNotReturnedElsewhere(options, orderId);
    return sendResult(reply, await afterSale.reverse(orderId));
  });

  app.post("/delivery", async (call: Call, reply) => {
    const body = members(call, ["orderId", "delivered", "amount"]);
    const orderId = text("orderId", body["orderId"]);
    const { delivered } = body;
    if (typeof delivered !== "boolean") throw fault("delivered", "must be true or false");
    const amountMinor = partOf(body["amount"], () => orders.latest(orderId).request.currency);
    return sendResult(reply, await afterSale.deliver(orderId, delivered, amountMinor));
  });
}

/** 0 is allowed: nothing came out. */
function partOf(
  value: unknown,
  currency: () => Parameters<typeof parseAmount>[1],
): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (!(value instanceof JsonNumber)) throw fault("amount", "must be a number, for example 1.50");
  if (value.value === 0) return 0;
  try {
    return parseAmount(value.source, currency(), RECEIPT_AMOUNT_DIGITS);
  } catch (error) {
    if (error instanceof AmountError) throw fault("amount", error.message);
    throw error;
  }
}
