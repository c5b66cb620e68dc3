import type { FastifyInstance, FastifyRequest } from "fastify";
import { type ListedAttempt, type ListStatus, listStatuses } from "../../attempts/attempt-store.ts";
import { answerOf } from "../../orders/answer.ts";
import { type Settlement, settlements } from "../../orders/settlement.ts";
import type { ApiOptions } from "../app.ts";
import { fault, members, text } from "./body-members.ts";
import { sendResult } from "./payment-routes.ts";
import { requireOwnOperator } from "./terminal-routes.ts";

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 500;
const NOTE_LENGTH_MAX = 500;

type ListCall = FastifyRequest<{ Querystring: Record<string, unknown> }>;
type SettleCall = FastifyRequest<{
  Params: { orderId: string };
  Body: Record<string, unknown> | undefined;
}>;

/** The journal for operators: what happened, and settling what nobody could find out. */
export function installJournalRoutes(app: FastifyInstance, options: ApiOptions): void {
  const { orders } = options;
  /**
   * Attempts, newest first, and behind them those in the archive; the header `next-cursor`
   * continues behind a full page. One that is put away meanwhile may be listed twice, never not.
   */
  app.get("/payments", (call: ListCall, reply) => {
    const { since, status, limit, cursor, ...others } = call.query;
    const unknown = Object.keys(others)[0];
    if (unknown) throw fault(unknown, "is not known (known: since, status, limit, cursor)");
    const count = limit === undefined ? LIMIT_DEFAULT : whole("limit", limit, LIMIT_MAX);
    const page = {
      sinceMs: since === undefined ? 0 : instant(since),
      status: status === undefined ? null : statusOf(status),
    };
    const { archived, before } = placeOf(cursor);
    const recent = archived ? [] : orders.list({ ...page, limit: count, before });
    const old = orders.listArchived({
      ...page,
      limit: count - recent.length,
      before: archived ? before : null,
    });
    if (recent.length + old.length === count) {
      const prefix = old.length > 0 ? ARCHIVE : "";
      void reply.header("next-cursor", `${prefix}${[...recent, ...old].at(-1)?.position}`);
    }
    return reply.send([
      ...recent.map((one) => entry(one, false)),
      ...old.map((one) => entry(one, true)),
    ]);
  });

  app.post("/payment/:orderId/settle", async (call: SettleCall, reply) => {
    requireOwnOperator(call, options);
    const body = members(call, ["outcome", "note"]);
    const outcome = settlements.find((known) => known === body["outcome"]);
    if (!outcome) throw fault("outcome", `must be one of ${settlements.join(", ")}`);
    const note = text("note", body["note"]);
    if (note.length > NOTE_LENGTH_MAX) {
      throw fault("note", `must be at most ${NOTE_LENGTH_MAX} characters`);
    }
    const { orderId } = call.params;
    const word: { orderId: string; outcome: Settlement; note: string } = { orderId, outcome, note };
    return sendResult(reply, await options.settle(word));
  });
}

/** Of a cursor that continues in the archive. */
const ARCHIVE = "archive-";

function placeOf(cursor: unknown): { archived: boolean; before: number | null } {
  if (cursor === undefined) return { archived: false, before: null };
  const archived = typeof cursor === "string" && cursor.startsWith(ARCHIVE);
  const position = archived ? cursor.slice(ARCHIVE.length) : cursor;
  return { archived, before: whole("cursor", position, Number.MAX_SAFE_INTEGER) };
}

function entry({ attempt, delivery }: ListedAttempt, archived: boolean): object {
  const { body } = answerOf(attempt, delivery);
  return {
    ...body,
    attempt: attempt.number,
    archived,
    startedAt: new Date(attempt.startedAtMs).toISOString(),
    endedAt: attempt.endedAtMs === null ? null : new Date(attempt.endedAtMs).toISOString(),
  };
}

function statusOf(value: unknown): ListStatus {
  const status = listStatuses.find((known) => known === value);
  if (!status) throw fault("status", `must be one of ${listStatuses.join(", ")}`);
  return status;
}

function whole(field: string, value: unknown, max: number): number {
  const number = typeof value === "string" && /^[1-9]\d{0,15}$/.test(value) ? Number(value) : 0;
  if (number >= 1 && number <= max) return number;
  throw fault(field, `must be a whole number from 1 to ${max}`);
}

function instant(value: unknown): number {
  const ms = typeof value === "string" ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(ms)) throw fault("since", "must be a time like 2026-01-31T00:00:00Z");
  return ms;
}
