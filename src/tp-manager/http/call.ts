import type { FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import { AppError, type ErrorCode } from "../../shared/catalog/errors.ts";
import { acceptsNothing, checkedBody, checkedParameters } from "./body/input.ts";
import { plain } from "./body/json-body.ts";
import type { CallContext } from "./call-context.ts";
import { sendList } from "./envelope.ts";
import type { Known, namedSchemas } from "./openapi/known-answers.ts";

export type Method = "GET" | "POST";
type Role = "kiosk" | "operator";
type Json = Readonly<Record<string, unknown>>;
type Headers = Readonly<Record<string, string | undefined>>;

/** The members that a path names in braces. */
type ParamsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [K in Name]: string } & ParamsOf<Rest>
  : unknown;

/**
 * One call of the local API: the only place that says what it is. Routing, `Allow`, roles, the rule
 * about a browser's address bar, validation, the OpenAPI document and docs/reference.md derive from
 * it.
 */
interface CallRecord<Path extends string, Body, Query, Answer> {
  /** As OpenAPI writes it: `/payment/{orderId}`. */
  readonly path: Path;
  /** A second path of the same call. */
  readonly alias?: string;
  /** The former path of a renamed call, which still works and is deprecated. */
  readonly formerPath?: string;
  /** The methods; missing: GET for a call that reads, else POST. */
  readonly methods?: readonly Method[];
  /**
   * The GET of the call changes nothing, so it has HEAD and may be made from a browser's address
   * bar. A GET without this member may change something.
   */
  readonly reads?: true;
  /** The answer goes on until its reader leaves, so the call has no HEAD. */
  readonly streams?: true;
  /**
   * Who may make the call if OPERATOR_LOGIN is set; missing: kiosk and operator. "own-operator":
   * without that setting nobody may.
   */
  readonly role?: "operator" | "own-operator";
  /** What `id` in the path names: a transaction of this installation; missing: an order. */
  readonly idOf?: "transaction";
  /** The member that may hold an id of the gateway; the order of such an id is not known yet. */
  readonly gatewayId?: { readonly in: "params" | "body"; readonly name: string };
  /** Returns the orders that a body names in another way; the body may be unchecked. */
  readonly ordersOf?: (body: unknown) => readonly string[];
  /** The schema of the path's members; a member that is missing here may be any text. */
  readonly params?: z.ZodObject;
  readonly query?: z.ZodType<Query>;
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType<Body>;
  /** The handler reads the body itself, because it names every fault at once. */
  readonly readsBody?: true;
  /** The call changes something and is carried out even while a new version is on probation. */
  readonly whileUpdating?: true;
  /** The call answers a payment, so its refusals have the members that every payment has. */
  readonly answersPayment?: true;
  /** Returns what the document says of the call. Only the document's generator and tests ask. */
  document(known: Known): Documented<Answer>;
  /** Carries the call out. Returns the answer, or sends one itself. */
  handle(
    call: Call<Path, Body, Query>,
    at: CallContext,
  ): Handled<Answer> | Promise<Handled<Answer>>;
}

/** A call in the document, apart from its input; its texts are in openapi/document-en.json. */
export interface Documented<Answer = unknown> {
  readonly bodyExample?: Json;
  /** The schema of the answer; for a list, of one element. */
  readonly answer: z.ZodType<unknown, Answer>;
  /** The example of the answer; missing: that of the schema. */
  readonly example?: Json;
  /** The answer is a list of any length instead of one object. */
  readonly list?: true;
  /** The statuses other than 200 that the answer may have. */
  readonly also?: readonly number[];
  /** The media type and description of an answer that is not a JSON list with one object. */
  readonly type?: string;
  readonly description?: string;
  /** The error codes of this call; the generator adds those of every call. */
  readonly errors: readonly ErrorCode[];
}

/** One checked request for a call. */
interface Call<Path extends string, Body, Query> {
  readonly params: ParamsOf<Path>;
  readonly query: Query;
  /** The headers that the record names. */
  readonly headers: Headers;
  readonly body: Body;
  /** The body with the texts of its numbers, from which amounts are read. */
  readonly raw: Readonly<Record<string, unknown>>;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** A value with read-only members at every depth. */
export type Still<T> = T extends object ? { readonly [Name in keyof T]: Still<T[Name]> } : T;
type Handled<Answer> =
  | FastifyReply
  | Still<NoInfer<Answer>>
  | ReadonlyArray<Still<NoInfer<Answer>>>;
/** A part of an answer, by the name of its schema. */
export type Answer<Name extends keyof typeof namedSchemas> = Still<
  z.input<(typeof namedSchemas)[Name]>
>;

export type AnyCall = CallRecord<string, unknown, unknown, object> & {
  readonly methods: readonly Method[];
};

/** Returns a call; infers the types of body, query, path and answer for its handler. */
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

/** Whether a request may change something; a GET or HEAD without a call changes nothing. */
export function isActing(method: string, record: AnyCall | undefined): boolean {
  const asksToRead = method === "GET" || method === "HEAD";
  return !(asksToRead && (record === undefined || record.reads));
}

/** Checks who asks and what is asked, in this order, and carries the call out. */
export function carryOut(
  record: AnyCall,
  request: FastifyRequest,
  reply: FastifyReply,
  at: CallContext,
): FastifyReply | Promise<FastifyReply> {
  checkRole(record, request.role, at.hasOperator);
  const query = record.query ? checkedParameters(record.query, request.query) : undefined;
  const headers = (
    record.headers ? checkedParameters(record.headers, request.headers) : {}
  ) as Headers;
  const raw = request.body as Record<string, unknown> | undefined;
  const { body: schema } = record;
  if (schema && raw === undefined && !acceptsNothing(schema)) {
    throw new AppError("BODY_NOT_JSON", "The body is missing.");
  }
  const body = schema && !record.readsBody ? checkedBody(schema, plain(raw)) : undefined;
  const params = (
    record.params ? checkedParameters(record.params, request.params) : request.params
  ) as Record<string, string>;
  const mayChange = isActing(request.method, record) && !record.whileUpdating;
  if (mayChange && at.arbiter.lease.updating) throw new AppError("UPDATING");
  const asked = { params, query, headers, body, raw: raw ?? {}, request, reply };
  const answer = record.handle(asked, at);
  return answer instanceof Promise ? answer.then((one) => sent(one, reply)) : sent(answer, reply);
}

/** Sends a handler's answer, unless it sent one itself: then it gives the reply or undefined. */
function sent(answer: Handled<object> | undefined, reply: FastifyReply): FastifyReply {
  if (answer === undefined || answer === reply) return reply;
  return sendList(reply, reply.statusCode, Array.isArray(answer) ? answer : [answer]);
}

/** Whether this role may make a call at all (docs/design.md 5.14). */
export function mayCall({ role }: AnyCall, given: Role | null, hasOperator: boolean): boolean {
  return role === undefined || (hasOperator ? given === "operator" : role !== "own-operator");
}

function checkRole(record: AnyCall, given: Role | null, hasOperator: boolean): void {
  if (mayCall(record, given, hasOperator)) return;
  throw hasOperator
    ? new AppError("OPERATOR_REQUIRED")
    : new AppError("OPERATOR_REQUIRED", "Set OPERATOR_LOGIN and OPERATOR_PWD for this call.");
}
