import type { Attempt, Check, EventMembers, Health, PaymentAnswer } from "./answer-types.ts";

/**
 * A client of the local API for programs in TypeScript or JavaScript, in Node and in browsers. The
 * client needs only `fetch` and imports only types, so this file can be copied as it is. The
 * package has the types of the answers.
 *
 * const connector = new ConnectorClient({ url: "http://localhost:8765", login, password }); const
 * answer = await connector.pay({ amount: 12.0, orderId: "A-1001" }); if (answer.status ===
 * "Success") dispense();
 *
 * The client never sends a payment again. After a lost connection or a time-out, ask for the state
 * of the payment with its orderId.
 */

export interface ClientOptions {
  /** The address of the local API: `http://localhost:<LOCAL_PORT>`. */
  readonly url: string;
  readonly login: string;
  readonly password: string;
  /** A replacement for the global `fetch`, for tests. */
  readonly fetch?: typeof fetch;
}

export interface ApiError {
  readonly code: string;
  readonly message: string;
  readonly charged: "no" | "yes" | "unknown";
  readonly retry: "safe" | "same_order" | "after_recovery" | "never";
  readonly details: Readonly<Record<string, unknown>>;
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
export interface Refusal {
  readonly status: "Failed" | "Unknown";
  readonly error: ApiError;
  readonly orderId?: string;
}

export type Outcome = PaymentAnswer | Refusal;
type TimeLeft = Pick<NonNullable<Health["running"]>, "endsAt" | "secondsLeft">;
type KnownPayment = PaymentAnswer & Partial<TimeLeft> & { readonly attempts: readonly Attempt[] };

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
   * reached or the connection breaks; call {@link payment} with the same orderId after that.
   */
  async pay(request: PaymentRequest, signal?: AbortSignal): Promise<Outcome> {
    return (await this.#call("POST", "/payment", request, signal)).one as unknown as Outcome;
  }

  /**
   * Returns the state of an order; undefined: the connector never received the order, so that
   * nobody was charged. Rejects when it is not known, for example because orders may be lost.
   */
  async payment(orderId: string, signal?: AbortSignal): Promise<KnownPayment | undefined> {
    const path = `/payment/${encodeURIComponent(orderId)}`;
    const { http, one } = await this.#call("GET", path, undefined, signal);
    if ("attempts" in one) return one as unknown as KnownPayment;
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

  async version(): Promise<{ version: string; type: string; os: string }> {
    return (await this.#good("GET", "/version")) as { version: string; type: string; os: string };
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

  async *#stream(
    signal: AbortSignal,
    lastId: number | undefined,
  ): AsyncGenerator<ReturnType<typeof eventOf>> {
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
  ): Promise<{ http: number; one: Record<string, unknown> }> {
    const response = await this.#fetch(`${this.#url}${path}`, {
      method,
      headers: {
        authorization: this.#authorization,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    });
    const [one] = (await response.json()) as [Record<string, unknown>];
    return { http: response.status, one };
  }
}

function errorOf(one: Record<string, unknown>): ApiError {
  return one["error"] as ApiError;
}

/** Returns the event in one block of the event stream; a block with only an id has the name "". */
function eventOf(block: string) {
  const lineOf = (name: string): string | undefined =>
    new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
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

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const either = AbortSignal.any([AbortSignal.timeout(ms), signal]);
    if (either.aborted) resolve();
    either.addEventListener("abort", () => resolve(), { once: true });
  });
}
