import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { FIXED_AMOUNT_MAX } from "../../../../concert/index.ts";
import { sleep } from "../../../../shared/time.ts";
import type { LineTrait } from "../../faults/fault-kinds.ts";
import { type Condition, Machine, NotNow } from "../../machine.ts";
import type { BytePort, Transport } from "../../port/ports.ts";
import texts from "../../texts.json" with { type: "json" };
import type { TraceEntry } from "../../trace-log.ts";
import { BareLine, type ConcertLine, SessionLine } from "../link/lines.ts";
import type { MessageReading } from "../reading.ts";
import { type ConcertParts, type Dialogue, type Order, Payment, type Request } from "./payment.ts";
import { saysAll } from "./tagged-dialogue.ts";

/**
 * A terminal of Concert and Caisse-AP. It sends the outcome of a payment in a session of its own
 * (docs/concert.md 2.4), or, without sessions, as the answer to the request (docs/concert.md 4.7).
 */
export class ConcertTerminal extends Machine<ConcertParts, Payment> {
  readonly routes = texts.protocolRoutes.concert;
  readonly #dialogue: Dialogue;
  readonly #reading: MessageReading;
  /** The newest line: every outcome is sent on it, even if the request came on an older line. */
  #line: ConcertLine | undefined;
  #last: { readonly body: Uint8Array; delivered: boolean } | undefined;
  /** Ends, when the power fails, the delivery of replies that belong to no payment. */
  #powered = new AbortController();

  constructor(parts: ConcertParts, dialogue: Dialogue, reading: MessageReading) {
    super(parts);
    this.#dialogue = dialogue;
    this.#reading = reading;
  }

  connect(port: BytePort, transport: Transport): void {
    const refused = transport === "tcp" ? this.parts.fault("refuse-connection") : undefined;
    if (refused) {
      port.close();
      void this.parts.host.unplug(Number(refused["ms"]));
      return;
    }
    const { sessions, timers } = this.parts.options;
    const options = { ...this.lineOptions(port, transport), ...timers, saysAll };
    const line = sessions ? new SessionLine(port, options) : new BareLine(port, options);
    this.#line = line;
    line.start({
      mayBegin: () => !this.running && !this.parts.busy && !this.parts.outOfOrder,
      request: (body) => this.#requested(line, body),
      closed: () => {
        if (this.#line === line) this.#line = undefined;
      },
    });
  }

  override powerCycle(): void {
    super.powerCycle();
    this.running = undefined;
    this.#powered = new AbortController();
  }

  override kill(why: string): void {
    super.kill(why);
    this.#powered.abort();
  }

  protected override read(body: Uint8Array, direction: "in" | "out"): Partial<TraceEntry> {
    return this.#reading.read(body, direction);
  }

  state(): object {
    const payment = this.running;
    return {
      running: payment ? { ...payment.order, phase: payment.phase } : null,
      lastReplyDelivered: this.#last?.delivered ?? null,
    };
  }

  override get traits(): readonly LineTrait[] {
    return [...super.traits, this.parts.options.sessions ? "sessions" : "bare"];
  }

  get condition(): Condition {
    return this.running ? "busy" : "ready";
  }

  addRoutes(server: FastifyInstance): void {
    const text = (form: RegExp, usual: string) => z.string().regex(form).default(usual);
    const sale = z.strictObject({
      amountMinor: z.number().int().min(1).max(FIXED_AMOUNT_MAX),
      currency: text(/^\d{3}$/, "978"),
      private: text(/^[ -~]{0,10}$/, ""),
    });
    server.post("/sale", (request) => {
      const { amountMinor, currency, private: reference } = sale.parse(request.body);
      const order: Order = { action: "debit", amountMinor, currency };
      const line = this.#line;
      if (this.running || !this.parts.options.sessions || !line) {
        throw new NotNow("no sale can begin: a payment runs, or the line has no sessions");
      }
      this.#run(line, this.#dialogue.ownSale(order, reference), order);
      return { selling: true };
    });
    server.post("/again", () => {
      const [line, last] = [this.#line, this.#last];
      if (this.running || !last || !line?.inSessions) {
        throw new NotNow("there is no reply to repeat, or a payment runs");
      }
      this.#answer(line, last.body);
      return { telling: true };
    });
  }

  /** Returns the work that a request begins; undefined: it is refused or already answered. */
  #requested(line: ConcertLine, body: Uint8Array): (() => void) | undefined {
    if (this.running || this.parts.busy) {
      const busy = line.inSessions ? undefined : this.#dialogue.busy?.(body);
      if (busy) void line.deliver(busy).then(() => line.finish());
      return undefined;
    }
    const request = this.#dialogue.read(body);
    if (!request) return undefined;
    const { order } = request;
    if (order) return () => this.#run(line, request, order);
    return () => {
      if (request.early) this.#answer(line, request.early);
    };
  }

  #run(line: ConcertLine, { early, repliesAtEnd, reply }: Request, order: Order): void {
    const payment = new Payment(this.parts, order, line.name);
    void this.run(payment, async () => {
      if (early) await this.#deliver(line, early, payment.signal);
      if (!repliesAtEnd) line.finish();
      const ending = await payment.carryOut();
      if (!repliesAtEnd) return;
      const body = reply(ending);
      await payment.reach("reply");
      await payment.pause("fault late reply", Number(this.parts.fault("late-reply")?.["ms"] ?? 0));
      if (!this.parts.fault("no-reply")) {
        if (await this.#deliver(line, body, payment.signal)) await payment.reach("replied");
      }
      line.finish();
    });
  }

  /** Delivers a reply that belongs to no payment, unless the power fails. */
  #answer(line: ConcertLine, body: Uint8Array): void {
    const { signal } = this.#powered;
    const over = (error: unknown): void => {
      if (error !== signal.reason) throw error;
    };
    void this.#deliver(line, body, signal).then(() => line.finish(), over);
  }

  /** Delivers a reply in at most `enqTries` attempts; true: ACK came (docs/concert.md 2.5). */
  async #deliver(from: ConcertLine, body: Uint8Array, signal: AbortSignal): Promise<boolean> {
    const { clock, options } = this.parts;
    const reply = { body, delivered: false };
    this.#last = reply;
    const triesMax = from.inSessions ? options.enqTries || Number.POSITIVE_INFINITY : 1;
    for (let tries = 1; ; tries++) {
      // Without sessions an answer can only be sent on the line on which the request came.
      const line = from.inSessions ? this.#line : from;
      const how = await line?.deliver(body);
      // If no register is connected, an attempt lasts as long as the wait for an answer to ENQ.
      if (!line) await sleep(clock, "nobody is connected", options.timers.answerMs, signal);
      reply.delivered = how === "delivered";
      signal.throwIfAborted();
      if (reply.delivered || how === "refused" || tries >= triesMax) return reply.delivered;
      await sleep(clock, "between two ENQ", options.timers.enqPauseMs, signal);
    }
  }
}
