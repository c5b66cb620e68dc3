import type {
  ApiError,
  Attempt,
  Check,
  EventMembers,
  Health,
  PaymentAnswer,
} from "./answer-types.ts";

/**
 * A client of the local API for programs in TypeScript or JavaScript, in Node and in browsers. The
 * client needs only `fetch` and imports only types, so this file can be copied as it is. The
 * package has the types of the answers. The client never sends a payment again: after a lost
 * connection or a time-out it reads the state of the payment with its orderId.
 */

export interface ClientOptions {
  /** The address of the local API: `http://localhost:<LOCAL_PORT>`. */
  readonly url: string;
  readonly login: string;
  readonly password: string;
  /** A replacement for the global `fetch`, for tests. */
  readonly fetch?: typeof fetch;
}

export interface PaymentRequest {
  /** The amount in major units, for example 9.99. */
  readonly amount: number;
  /** The id that names the order for ever: an order is charged at most once. */
  readonly orderId: string;
  readonly currency?: string;
  readonly basket?: CartLine | readonly CartLine[];
  readonly customer?: Customer;
  readonly customData?: Readonly<Record<string, string | number | boolean>>;
  /** Two-phase sale: first `Approved`, then charged only by {@link ConnectorClient.deliver}. */
  readonly delivery?: { readonly withinSeconds: number };
}

export interface CartLine {
  readonly type: "good" | "discount" | "fee";
  readonly quantity: number;
  readonly unit_price: number;
  readonly total_amount: number;
  readonly discount?: number;
  readonly tax_rate?: number;
  readonly name?: string;
  readonly product_reference?: string;
  readonly european_article_numbering?: number | string;
}

export interface Customer {
  readonly id?: number;
  readonly firstname?: string;
  readonly lastname?: string;
  readonly email?: string;
}

/** The answer to a refused request, with those members of the request that the connector read. */
export type Refusal = Partial<Omit<PaymentAnswer, "status" | "error">> & {
  readonly status: "Failed" | "Unknown";
  readonly error: ApiError;
};

export type Outcome = PaymentAnswer | Refusal;
type TimeLeft = Pick<NonNullable<Health["running"]>, "endsAt" | "secondsLeft">;
type Lookup = PaymentAnswer & Partial<TimeLeft> & { readonly attempts: readonly Attempt[] };

/** What is known of the request whose outcome {@link ConnectorClient.untilKnown} reads. */
export interface SentRequest {
  /** `Date.now()` before it was sent: no outcome of an earlier attempt is an answer to it. */
  readonly sentAt?: number;
  /** true: its answer had a transactionId, as one with HTTP 202 has, so the order has arrived. */
  readonly accepted?: boolean;
  /** Ends the reading, in place of a limit of five minutes. */
  readonly signal?: AbortSignal | undefined;
}

/** `supportedUntil`: the last day on which the publisher supports the version. */
type Version = Record<"version" | "type" | "os", string> & { readonly supportedUntil?: string };

/** One event; `name` decides `data`. Ignore unknown names, which a newer connector may send. */
export type ConnectorEvent = {
  readonly [Name in keyof EventMembers]: {
    /** The id of a stored event; undefined for prompts and other events that are not stored. */
    readonly id: number | undefined;
    readonly name: Name;
    readonly data: EventMembers[Name] & { readonly at: string };
  };
}[keyof EventMembers];

/** The error with which a call other than a payment is refused. */
export class ConnectorError extends Error {
  override readonly name = "ConnectorError";
  readonly http: number;
  readonly error: ApiError;

  constructor(http: number, error: ApiError) {
    super(`${error.code}: ${error.message}`);
    this.http = http;
    this.error = error;
  }
}

/** The pause before a broken stream of events is opened again, in milliseconds. */
const RECONNECT_MS = 2_000;
const UNTIL_KNOWN_MS = 300_000;
/** How long the connector may keep a read waiting, and how long the whole read may take. */
const [WAIT_SECONDS, READ_MS] = [30, 60_000];

export class ConnectorClient {
  readonly #url: string;
  readonly #authorization: string;
  readonly #fetch: typeof fetch;

  constructor(options: ClientOptions) {
    this.#url = options.url.replace(/\/+$/, "");
    this.#authorization = `Basic ${base64(`${options.login}:${options.password}`)}`;
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
  }

  /**
   * Pays an order, and resolves when the payment has ended, which may take minutes. Declined,
   * refused and unknown payments are outcomes, not exceptions. Rejects when the connector cannot be
   * reached or the connection breaks; call {@link untilKnown} with the same orderId after that.
   */
  async pay(request: PaymentRequest, signal?: AbortSignal): Promise<Outcome> {
    return (await this.#call("POST", "/payment", request, signal)).one as unknown as Outcome;
  }

  /**
   * Pays an order without a request that waits for the customer: sends it once, then resolves as
   * {@link untilKnown} does. `signal` ends the reading, never the payment.
   */
  async payUntilKnown(
    request: PaymentRequest,
    signal = AbortSignal.timeout(UNTIL_KNOWN_MS),
  ): Promise<Outcome | undefined> {
    const sentAt = Date.now();
    const limit = AbortSignal.any([signal, AbortSignal.timeout(READ_MS)]);
    const sent = this.#call("POST", "/payment", request, limit, "respond-async");
    const answer = (await sent.catch(() => undefined))?.one as Outcome | undefined;
    if (answer && answer.status !== "Unknown") return answer;
    const accepted = answer?.transactionId !== undefined;
    return await this.untilKnown(request.orderId, { sentAt, accepted, signal });
  }

  /**
   * Reads an order until its outcome is known, also through a restart of the connector; sends no
   * payment. Resolves with the outcome, `replayed` if the order was paid before the request; with
   * the last answer, as `Unknown`, when the time is over; with undefined when the request has not
   * arrived, so that it charged nobody.
   */
  async untilKnown(orderId: string, sent: SentRequest = {}): Promise<Outcome | undefined> {
    const { sentAt = 0, accepted = false, signal = AbortSignal.timeout(UNTIL_KNOWN_MS) } = sent;
    const message = "Nothing was answered about the order.";
    let last: Outcome = unknown(orderId, { code: "PAYMENT_UNKNOWN", message });
    let hasArrived = accepted; // a later 404 means that the journal was lost
    for (let absent = 0; !signal.aborted; await pause(RECONNECT_MS, signal)) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(READ_MS)]);
      try {
        const found = await this.payment(orderId, limit, WAIT_SECONDS);
        const startedMs = Date.parse(found?.attempts.at(-1)?.startedAt ?? "");
        const isEarlier = !accepted && startedMs < sentAt;
        const isAbsent = found ? isEarlier && found.error?.charged === "no" : !hasArrived;
        if (found?.status === "Unknown") last = found;
        else if (found && !isAbsent) return isEarlier ? { ...found, replayed: true } : found;
        absent = isAbsent ? absent + 1 : 0;
        if (absent === 2) return undefined;
        hasArrived ||= found !== undefined;
      } catch (error) {
        absent = 0;
        if (error instanceof ConnectorError) last = unknown(orderId, error.error);
      }
    }
    return last;
  }

  /**
   * Returns the state of an order; undefined: the connector never received the order, so that
   * nobody was charged. Rejects when it is not known, for example because orders may be lost.
   * `wait`: for how many seconds the connector may wait for the outcome before it answers.
   */
  async payment(orderId: string, signal?: AbortSignal, wait?: number): Promise<Lookup | undefined> {
    const path = `/payment/${encodeURIComponent(orderId)}`;
    const prefer = wait === undefined ? undefined : `wait=${wait}`;
    const { http, one } = await this.#call("GET", path, undefined, signal, prefer);
    if ("attempts" in one) return one as unknown as Lookup;
    const error = errorOf(one);
    if (error.code === "ORDER_NOT_FOUND" && error.charged === "no") return undefined;
    throw new ConnectorError(http, error);
  }

  /** Ends a two-phase sale. `amount`: the value of the goods that came out, if not all did. */
  async deliver(orderId: string, delivered: boolean, amount?: number): Promise<Outcome> {
    const body = { orderId, delivered, ...(amount === undefined ? {} : { amount }) };
    return (await this.#call("POST", "/delivery", body)).one as unknown as Outcome;
  }

  /** Reverses a charged order on the terminal. The client never repeats this request. */
  async reverse(orderId: string): Promise<Outcome> {
    return (await this.#call("POST", "/reversal", { orderId })).one as unknown as Outcome;
  }

  /** Asks the terminal to cancel the running payment. Only the payment's answer has the result. */
  async cancel(): Promise<void> {
    await this.#good("POST", "/cancel");
  }

  async check(): Promise<Check> {
    return (await this.#good("GET", "/check")) as unknown as Check;
  }

  async version(): Promise<Version> {
    return (await this.#good("GET", "/version")) as Version;
  }

  /** Returns whether a payment can be taken now, or why not. */
  async health(): Promise<Health> {
    const { http, one } = await this.#call("GET", "/health");
    if (!("reasons" in one)) throw new ConnectorError(http, errorOf(one));
    return one as unknown as Health;
  }

  /**
   * Yields the connector's events from now on, or all events after the id `afterId`, until `signal`
   * aborts. A broken stream continues after the last event. While the connector cannot be reached
   * or has too many readers (TOO_MANY_READERS), the client tries again every two seconds and yields
   * nothing. Rejects when the connector refuses the login or the web page's origin.
   */
  async *events(options: {
    readonly signal: AbortSignal;
    readonly afterId?: number;
  }): AsyncGenerator<ConnectorEvent, void> {
    const { signal } = options;
    let lastId = options.afterId;
    while (!signal.aborted) {
      try {
        for await (const event of this.#stream(signal, lastId)) {
          if (event.id !== undefined) lastId = event.id;
          if (event.name !== "") yield event as ConnectorEvent;
        }
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ConnectorError && error.http < 500) throw error;
      }
      await pause(RECONNECT_MS, signal);
    }
  }

  async *#stream(signal: AbortSignal, lastId: number | undefined) {
    const response = await this.#fetch(`${this.#url}/events`, {
      headers: {
        authorization: this.#authorization,
        ...(lastId === undefined ? {} : { "last-event-id": String(lastId) }),
      },
      signal,
    });
    if (!response.ok || !response.body) {
      const [one] = (await response.json()) as [Record<string, unknown>];
      throw new ConnectorError(response.status, errorOf(one));
    }
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        text += decoder.decode(value, { stream: true });
        const blocks = text.split("\n\n");
        text = blocks.pop() ?? "";
        for (const block of blocks) yield eventOf(block);
      }
    } finally {
      // A caller that leaves its loop closes the connection, of which the connector has few.
      await reader.cancel().catch(() => {});
    }
  }

  async #good(method: "GET" | "POST", path: string): Promise<Record<string, unknown>> {
    const { http, one } = await this.#call(method, path);
    if (http !== 200) throw new ConnectorError(http, errorOf(one));
    return one;
  }

  async #call(
    method: "GET" | "POST",
    path: string,
    body?: unknown,
    signal?: AbortSignal,
    prefer?: string,
  ): Promise<{ http: number; one: Record<string, unknown> }> {
    const response = await this.#fetch(`${this.#url}${path}`, {
      method,
      headers: {
        authorization: this.#authorization,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(prefer === undefined ? {} : { prefer }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    });
    const [one] = (await response.json()) as [Record<string, unknown>];
    return { http: response.status, one };
  }
}

function unknown(orderId: string, { code, message }: Pick<ApiError, "code" | "message">): Refusal {
  const error = { code, message, charged: "unknown", retry: "same_order", details: {} } as const;
  return { status: "Unknown", orderId, error };
}

function errorOf(one: Record<string, unknown>): ApiError {
  return one["error"] as ApiError;
}

/** Returns the event in one block of the event stream; a block with only an id has the name "". */
function eventOf(block: string) {
  const lineOf = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
  const id = lineOf("id");
  return {
    id: id === undefined ? undefined : Number(id),
    name: lineOf("event") ?? "",
    data: JSON.parse(lineOf("data") ?? "{}") as unknown,
  };
}

/** Encodes the UTF-8 bytes of a text, because `btoa` takes bytes only. */
function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

/** Waits, and keeps a program of Node.js running meanwhile; the end of `signal` ends the pause. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}
