import type { FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import { AppError, type ErrorCode } from "../../shared/catalog/errors.ts";
import type { Logger } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import type { TerminalArbiter } from "../arbiter/terminal-arbiter.ts";
import type { AcknowledgedRows, AuditEntryRows, DayRows } from "../journal/operator-rows.ts";
import type { AfterSale } from "../orders/after-sale.ts";
import type { Listings } from "../orders/listings.ts";
import type { Orders } from "../orders/orders.ts";
import type { GatewayOperations } from "../supervisor/gateway-operations.ts";
import type { RefusedHandOffs } from "../supervisor/hand-off.ts";
import type { SupervisorLink } from "../supervisor/supervisor-link.ts";
import { acceptsNothing, checked } from "./body/input.ts";
import { send } from "./envelope.ts";
import type { EventStreams } from "./events/event-streams.ts";
import type { Maintenance } from "./maintenance/maintenance.ts";
import type { Known, namedSchemas } from "./openapi/known-answers.ts";
import type { waitingReaders } from "./prefer.ts";
import type { HourWatch } from "./status/hour-watch.ts";
import type { Monitor } from "./status/monitor.ts";

export type Method = "GET" | "POST";
export type Role = "kiosk" | "operator" | "metrics";

type ParamsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [K in Name]: string } & ParamsOf<Rest>
  : unknown;

/**
 * One call of the local API. Routing, roles and validation derive from this record, and so do
 * openapi.json and docs/reference.md (texts: openapi/document-en.json).
 */
interface CallRecord<Path extends string, Body, Query, Answer> {
  readonly path: Path;
  readonly alias?: string;
  /** The former path of a renamed call, which still works and is deprecated. */
  readonly formerPath?: string;
  /** The methods of the call; missing: GET for a call that reads, else POST. */
  readonly methods?: readonly Method[];
  /** true: the call's GET changes nothing; it has HEAD and works from a browser's address bar. */
  readonly reads?: true;
  /** true: the answer is a stream that lasts until its reader leaves, so the call has no HEAD. */
  readonly streams?: true;
  /**
   * Who may make the call if OPERATOR_LOGIN is set; missing: kiosk and operator. "own-operator":
   * nobody may make the call without OPERATOR_LOGIN.
   */
  readonly role?: "operator" | "own-operator";
  /** true: the pair METRICS_LOGIN may make the call too, and no call without this mark. */
  readonly figures?: true;
  /** "transaction": `{id}` in the path is the id of an attempt. Missing: it is an order id. */
  readonly idOf?: "transaction";
  /** The parameter or member that may name the order by its transaction id at the gateway. */
  readonly gatewayId?: { readonly in: "params" | "body"; readonly name: string };
  /** Returns the order ids in members other than `orderId`; the body may be unchecked. */
  readonly ordersOf?: (body: unknown) => readonly string[];
  /** The schema of the path's parameters; a parameter that is missing here may be any text. */
  readonly params?: z.ZodObject;
  readonly query?: z.ZodType<Query>;
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType<Body>;
  /** true: the handler validates the body itself, because it reports all faults at once. */
  readonly readsBody?: true;
  /** true: the call is allowed while a new version is on trial, although it changes something. */
  readonly whileUpdating?: true;
  /** true: the answer has the members of a payment, also when the call is refused. */
  readonly answersPayment?: true;
  /** Returns what openapi.json says of the call; only its generator and tests call this. */
  document(known: Known): Documented<Answer>;
  /** Carries out the call. Returns the answer, or the reply if the handler has sent it already. */
  handle(
    call: Call<Path, Body, Query>,
    at: CallContext,
  ): Handled<Answer> | Promise<Handled<Answer>>;
}

/** What openapi.json says about the answer of a call; its texts and examples are in openapi/. */
export interface Documented<Answer = unknown> {
  /** The schema of the answer; if the answer is a list, the schema of one element. */
  readonly answer: z.ZodType<unknown, Answer>;
  readonly list?: true;
  /** The schema of the answer 202, with which the call ends before its work has ended. */
  readonly accepted?: z.ZodType;
  /** The statuses other than 200 that the answer may have. */
  readonly also?: readonly number[];
  /** The media type of an answer that is not the usual JSON list of one object. */
  readonly type?: string;
  readonly description?: string;
  /** The error codes of this call; the generator adds those of every call. */
  readonly errors?: readonly ErrorCode[];
}

/** What the handlers of calls work with: the parts of tp-manager, and settings. */
export interface CallContext {
  readonly orders: Orders;
  readonly listings: Listings;
  readonly arbiter: TerminalArbiter;
  readonly afterSale: AfterSale;
  readonly monitor: Monitor;
  readonly supervisor: SupervisorLink;
  readonly refused: RefusedHandOffs;
  readonly gateway: GatewayOperations;
  readonly maintenance: Maintenance;
  readonly auditEntries: AuditEntryRows;
  readonly acknowledged: AcknowledgedRows;
  readonly days: DayRows;
  /** Reads for each hour how long payments were possible, with the hour that still runs. */
  readonly hours: HourWatch;
  readonly defaultCurrency: string;
  /** Whether OPERATOR_LOGIN is set. */
  readonly hasOperator: boolean;
  readonly events: EventStreams;
  readonly readers: ReturnType<typeof waitingReaders>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly requestStop: (why: string) => void;
}

interface Call<Path extends string, Body, Query> {
  readonly params: ParamsOf<Path>;
  readonly query: Query;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Body;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** A value with read-only members at every depth. */
export type Still<T> = T extends object ? { readonly [Name in keyof T]: Still<T[Name]> } : T;
type Handled<Answer> =
  | FastifyReply
  | Still<NoInfer<Answer>>
  | ReadonlyArray<Still<NoInfer<Answer>>>;
/** The type of an answer, or of a part of one, by the name of its schema. */
export type Answer<Name extends keyof typeof namedSchemas> = Still<
  z.input<(typeof namedSchemas)[Name]>
>;

export type AnyCall = CallRecord<string, unknown, unknown, object> & {
  readonly methods: readonly Method[];
};

/** Returns the record of a call with its methods; the types in its handler are inferred. */
export function call<const Path extends string, Body, Query, Answer>(
  record: CallRecord<Path, Body, Query, Answer>,
): AnyCall {
  return { methods: [record.reads ? "GET" : "POST"], ...record } as unknown as AnyCall;
}

export function pathsOf({ path, alias, formerPath }: AnyCall): string[] {
  return [path, alias, formerPath].filter((each) => each !== undefined);
}

/** Returns the methods of a call, with HEAD if its GET changes nothing. */
export function methodsOf({ methods, reads, streams }: AnyCall): string[] {
  return reads && !streams ? [...methods, "HEAD"] : [...methods];
}

/** Whether a request may change something; a GET or HEAD of no known call changes nothing. */
export function isActing(method: string, record: AnyCall | undefined): boolean {
  const asksToRead = method === "GET" || method === "HEAD";
  return !(asksToRead && (record === undefined || record.reads));
}

/** Checks the caller's role, then the request's members, and carries out the call. */
export async function carryOut(
  record: AnyCall,
  request: FastifyRequest,
  reply: FastifyReply,
  at: CallContext,
): Promise<FastifyReply> {
  if (!mayCall(record, request.role, at.hasOperator)) {
    const hint = at.hasOperator ? undefined : "Set OPERATOR_LOGIN and OPERATOR_PWD for this call.";
    throw new AppError("OPERATOR_REQUIRED", hint);
  }
  const query = record.query && checked(record.query, request.query, "is not known");
  const headers = record.headers && checked(record.headers, request.headers, "is not known");
  const { body: schema } = record;
  if (schema && request.body === undefined && !acceptsNothing(schema)) {
    throw new AppError("BODY_NOT_JSON", "The body is missing.");
  }
  const body = schema && !record.readsBody && checked(schema, request.body);
  const params = record.params
    ? checked(record.params, request.params, "is not known")
    : request.params;
  const mayChange = isActing(request.method, record) && !record.whileUpdating;
  if (mayChange && at.arbiter.lease.updating) throw new AppError("UPDATING");
  const asked = { params, query, headers, body, request, reply } as Call<string, unknown, unknown>;
  const answer: object | undefined = await record.handle(asked, at);
  // A handler that sends its answer itself returns the reply; awaiting the reply gives undefined.
  if (answer === undefined) return reply;
  return send(reply, reply.statusCode, ...(Array.isArray(answer) ? answer : [answer]));
}

/** Whether a role may make a call (docs/design.md 5.14). */
export function mayCall({ role }: AnyCall, given: Role | null, hasOperator: boolean): boolean {
  return role === undefined || (hasOperator ? given === "operator" : role !== "own-operator");
}
