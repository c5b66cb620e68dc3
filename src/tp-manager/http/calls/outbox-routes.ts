import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError } from "../../../shared/errors.ts";
import {
  type DeliveryState,
  deliveryStateSchema,
  NOTE_CHARACTERS_MAX,
  OUTBOX_PAGE_MAX,
  type OutboxItem,
} from "../../../shared/ipc/contract.ts";
import { formatMajor } from "../../../shared/money.ts";
import type { ApiOptions } from "../app.ts";
import { sendOne } from "../envelope.ts";
import { fault, members, text } from "./body-members.ts";
import { requireOperator } from "./terminal-routes.ts";

const LIMIT_DEFAULT = 50;

type ListCall = FastifyRequest<{ Querystring: Record<string, unknown> }>;
type ItemCall = FastifyRequest<{
  Params: { id: string };
  Body: Record<string, unknown> | undefined;
}>;

/** What waits for the gateway, for operators. */
export function installOutboxRoutes(app: FastifyInstance, options: ApiOptions): void {
  const { supervisor } = options;

  /** Items, oldest first; the header `next-cursor` continues behind a full page. */
  app.get("/outbox", async (call: ListCall, reply) => {
    requireOperator(call, options);
    const { state, limit, cursor, ...others } = call.query;
    const unknown = Object.keys(others)[0];
    if (unknown) throw fault(unknown, "is not known (known: state, limit, cursor)");
    const { items, more } = await supervisor.ask("outbox-list", {
      limit: limit === undefined ? LIMIT_DEFAULT : whole("limit", limit, OUTBOX_PAGE_MAX),
      ...(state === undefined ? {} : { state: stateOf(state) }),
      ...(cursor === undefined ? {} : { cursor: whole("cursor", cursor, 1e15) }),
    });
    const last = items.at(-1);
    if (more && last) void reply.header("next-cursor", String(last.sequence));
    return reply.send(items.map(entry));
  });

  app.post("/outbox/:id/requeue", async (call: ItemCall, reply) => {
    requireOperator(call, options);
    if (call.body !== undefined) members(call, []);
    const { id } = call.params;
    const { outcome } = await supervisor.ask("outbox-requeue", { transactionId: id });
    if (outcome !== "queued") throw refusal(id, outcome);
    const message = "The transaction is sent again now.";
    return sendOne(reply, 200, { status: "Success", transactionId: id, message });
  });

  app.post("/outbox/:id/drop", async (call: ItemCall, reply) => {
    requireOperator(call, options);
    const note = text("note", members(call, ["note"])["note"]);
    if (note.length > NOTE_CHARACTERS_MAX) {
      throw fault("note", `must be at most ${NOTE_CHARACTERS_MAX} characters`);
    }
    const { id } = call.params;
    const { outcome } = await supervisor.ask("outbox-drop", { transactionId: id, note });
    if (outcome !== "dropped") throw refusal(id, outcome);
    const message = "The transaction is closed and will not be sent.";
    return sendOne(reply, 200, { status: "Success", transactionId: id, message });
  });
}

function refusal(
  transactionId: string,
  outcome: "unknown" | "running" | "sent" | "closed",
): AppError {
  switch (outcome) {
    case "unknown":
      return new AppError("OUTBOX_ITEM_NOT_FOUND", undefined, { details: { transactionId } });
    case "running":
      return new AppError("OUTBOX_ITEM_BUSY", undefined, { details: { transactionId } });
    case "sent":
    case "closed":
      return new AppError("OUTBOX_ITEM_SETTLED", undefined, {
        details: { transactionId, state: outcome },
      });
  }
}

function entry(item: OutboxItem): object {
  const { amountMinor, exponent, lastTry } = item;
  return {
    transactionId: item.transactionId,
    orderId: item.orderId,
    state: item.state,
    amount: Number(formatMajor(amountMinor, exponent)),
    currency: item.currency,
    queuedAt: iso(item.queuedAtMs),
    nextTryAt: iso(item.nextTryAtMs),
    settledAt: iso(item.settledAtMs),
    tries: item.tries,
    ambiguous: item.ambiguous,
    reason: item.reason,
    lastTry: lastTry && {
      endedAt: iso(lastTry.endedAtMs),
      class: lastTry.class,
      httpStatus: lastTry.httpStatus,
      code: lastTry.code,
      description: lastTry.description,
    },
  };
}

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

function stateOf(value: unknown): DeliveryState {
  const parsed = deliveryStateSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw fault("state", `must be one of ${deliveryStateSchema.options.join(", ")}`);
}

function whole(field: string, value: unknown, max: number): number {
  const number = typeof value === "string" && /^[1-9]\d{0,15}$/.test(value) ? Number(value) : 0;
  if (number >= 1 && number <= max) return number;
  throw fault(field, `must be a whole number from 1 to ${max}`);
}
