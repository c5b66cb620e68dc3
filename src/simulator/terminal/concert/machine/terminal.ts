import type { FastifyInstance } from "fastify";
import { sleep } from "../../../../shared/time.ts";
import type { LineTrait } from "../../faults/fault-table.ts";
import { lineTraits } from "../../options.ts";
import type { BytePort } from "../../port/byte-port.ts";
import type { Condition, Machine } from "../../protocol.ts";
import { ProcessOver } from "../../terminal-parts.ts";
import { TraceLog, type Whereabouts } from "../../trace-log.ts";
import { addOwnRoutes, ownRoutes } from "../control.ts";
import { FaultyWire } from "../faults/faulty-wire.ts";
import { BareLine } from "../link/bare-line.ts";
import type { RegisterLine, Transport, WireEvent } from "../link/register-line.ts";
import { SessionLine } from "../link/session-line.ts";
import type { MessageReading } from "../reading/message-reading.ts";
import { traceEntry } from "../trace.ts";
import type { Dialogue, Order, Request } from "./order.ts";
import type { ConcertParts } from "./parts.ts";
import { Payment } from "./payment.ts";
import { saysAll } from "./tagged-dialogue.ts";

/**
 * A simulated terminal of the French cash-register protocols: takes one request at a time from
 * whichever register is connected, and tells its end by a session of its own (docs/concert.md 2.4),
 * or without sessions as the answer on the same line (docs/concert.md 4.7).
 */
export class ConcertTerminal implements Machine {
  readonly parts: ConcertParts;
  readonly trace: TraceLog;
  readonly toggles: Machine["toggles"] = {};
  readonly routes = ownRoutes;
  readonly #dialogue: Dialogue;
  readonly #reading: MessageReading;
  /** The newest line: a result is told there, wherever its request came from. */
  #line: RegisterLine | undefined;
  #payment: Payment | undefined;
  /** The last reply, and whether the register acknowledged it. */
  #last: { readonly body: Uint8Array; delivered: boolean } | undefined;
  #onIdle: (() => void)[] = [];

  constructor(parts: ConcertParts, dialogue: Dialogue, reading: MessageReading) {
    this.parts = parts;
    this.#dialogue = dialogue;
    this.#reading = reading;
    const { clock, traceEvents } = parts.options;
    this.trace = new TraceLog(clock, traceEvents, () => whereabouts(this.#payment));
    parts.onPhase = (line) => this.trace.phase(line);
  }

  connect(port: BytePort, transport: Transport): void {
    const refused = transport === "tcp" ? this.parts.fault("refuse-connection") : undefined;
    if (refused) {
      port.close();
      void this.parts.unplug(Number(refused["ms"]));
      return;
    }
    const line = this.#lineOn(port, transport);
    this.#line = line;
    line.start({
      mayBegin: () => !this.#payment && !this.parts.busy && !this.parts.outOfOrder,
      request: (body) => this.#requested(line, body),
      closed: () => {
        if (this.#line === line) this.#line = undefined;
      },
    });
  }

  powerCycle(): void {
    this.#payment?.kill("restart");
    this.#payment = undefined;
  }

  stop(why: string): void {
    this.#payment?.kill(why);
  }

  /** Resolves when no payment runs. */
  idle(): Promise<void> {
    if (!this.#payment) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  state(): object {
    const payment = this.#payment;
    return {
      running: payment ? { ...payment.order, phase: payment.phase } : null,
      lastReplyDelivered: this.#last?.delivered ?? null,
    };
  }

  get traits(): readonly LineTrait[] {
    const { options } = this.parts;
    return [...lineTraits(options), options.sessions ? "sessions" : "bare"];
  }

  get condition(): Condition {
    return this.#payment ? "busy" : "ready";
  }

  addRoutes(server: FastifyInstance): void {
    addOwnRoutes(server, this);
  }

  sell(order: Order, reference: string): boolean {
    const line = this.#line;
    if (this.#payment || !this.parts.options.sessions || !line) return false;
    this.#run(line, this.#dialogue.unasked(order, reference), order);
    return true;
  }

  tellAgain(): boolean {
    const [line, last] = [this.#line, this.#last];
    if (this.#payment || !last || !line?.inSessions) return false;
    void this.#tell(line, last.body, new AbortController().signal);
    return true;
  }

  #lineOn(port: BytePort, transport: Transport): RegisterLine {
    const { clock, options, faults } = this.parts;
    const given = {
      clock,
      transport,
      ...options.timers,
      interference: new FaultyWire(faults),
      onWire: (event: WireEvent) => this.trace.add(port.name, traceEntry(event, this.#reading)),
    };
    return options.sessions
      ? new SessionLine(port, given)
      : new BareLine(port, { ...given, saysAll });
  }

  /** Begins the request; undefined: refused on the line, or answered here. */
  #requested(line: RegisterLine, body: Uint8Array): (() => void) | undefined {
    if (this.#payment || this.parts.busy) {
      const busy = this.#dialogue.busy(body);
      if (busy && !line.inSessions) void line.tell(busy).then(() => line.finish());
      return undefined;
    }
    const request = this.#dialogue.read(body);
    if (!request) return undefined;
    const { order } = request;
    if (order) return () => this.#run(line, request, order);
    return () => {
      if (request.early) void this.#tell(line, request.early, never).then(() => line.finish());
    };
  }

  #run(line: RegisterLine, request: Request, order: Order): void {
    const payment = new Payment(this.parts, order, line.name);
    this.#payment = payment;
    void this.#carryOut(line, request, payment).finally(() => this.#over(payment));
  }

  async #carryOut(line: RegisterLine, request: Request, payment: Payment): Promise<void> {
    const { signal } = payment;
    try {
      const { early, toldAtTheEnd } = request;
      if (early) await this.#tell(line, early, signal);
      if (!toldAtTheEnd) line.finish();
      const ending = await payment.carryOut();
      if (toldAtTheEnd) await this.#tellEnd(line, request.reply(ending), payment);
    } catch (error) {
      if (!(error instanceof ProcessOver)) throw error;
    }
    await this.parts.endSilence();
  }

  async #tellEnd(line: RegisterLine, body: Uint8Array, payment: Payment): Promise<void> {
    await payment.reach("reply");
    await payment.pause("fault late reply", Number(this.parts.fault("late-reply")?.["ms"] ?? 0));
    if (!this.parts.fault("no-reply")) {
      const delivered = await this.#tell(line, body, payment.signal);
      if (delivered) await payment.reach("replied");
    }
    line.finish();
  }

  #over(payment: Payment): void {
    if (this.#payment === payment) {
      this.#payment = undefined;
      this.parts.screen.rest();
    }
    for (const idle of this.#onIdle.splice(0)) idle();
  }

  /** As long as an ENQ is waited for on a line. */
  async #nobody(signal: AbortSignal): Promise<"not-heard"> {
    const { clock, options } = this.parts;
    await sleep(clock, "nobody is connected", options.timers.answerMs, signal);
    return "not-heard";
  }

  /** Asks to tell until the register has acknowledged, or too often (docs/concert.md 2.5). */
  async #tell(from: RegisterLine, body: Uint8Array, signal: AbortSignal): Promise<boolean> {
    const { clock, options } = this.parts;
    const told = { body, delivered: false };
    this.#last = told;
    const triesMax = from.inSessions ? options.enqTries || Number.POSITIVE_INFINITY : 1;
    for (let tries = 1; ; tries++) {
      // Without sessions an answer belongs to its question: no other line may have it.
      const line = from.inSessions ? this.#line : from;
      const how = line ? await line.tell(body) : await this.#nobody(signal);
      told.delivered = how === "delivered";
      signal.throwIfAborted();
      if (told.delivered || how === "refused" || tries >= triesMax) return told.delivered;
      await sleep(clock, "between two ENQ", options.timers.enqPauseMs, signal);
    }
  }
}

/** For answers that nothing ends. */
const never = new AbortController().signal;

function whereabouts(payment: Payment | undefined): Whereabouts {
  return payment ? { command: payment.order.action, phase: payment.phase } : {};
}
