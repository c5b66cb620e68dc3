import { type Clock, sleep, type Timer } from "../../../shared/time.ts";
import type { FaultBox, Pieces } from "../faults/fault-box.ts";
import type { TraceEntry } from "../trace-log.ts";
import type { BytePort, Transport } from "./ports.ts";

/** An event on a line, for the trace. `bytes` is a message, which can contain a card number. */
export interface WireEvent extends TraceEntry {
  readonly bytes?: Uint8Array;
}

export interface LineOptions {
  readonly clock: Clock;
  readonly transport: Transport;
  readonly faults: FaultBox;
  readonly onWire: (event: WireEvent) => void;
}

interface Reader<E> {
  readonly isInside: boolean;
  push(bytes: Uint8Array): readonly E[];
  silence(): readonly E[];
}

/** Sends and receives whole messages of one register on one port. */
export abstract class RegisterLine<
  O extends LineOptions = LineOptions,
  H extends { closed(): void } = { closed(): void },
> {
  readonly name: string;
  readonly transport: Transport;
  /** What the trace calls a message of this protocol. */
  protected abstract readonly what: string;
  protected readonly port: BytePort;
  protected readonly options: O;
  protected handlers: H | undefined;
  /** A write in pieces with pauses that has not ended; later pieces wait for its end. */
  protected leaving: Promise<void> | undefined;
  #timer: Timer | undefined;
  /** The timer that ends a frame when no byte follows. */
  #silence: Timer | undefined;
  #inOrder: Promise<unknown> = Promise.resolve();
  /** Ends the pauses between pieces when the port has closed. */
  readonly #over = new AbortController();

  constructor(port: BytePort, options: O) {
    this.name = port.name;
    this.transport = options.transport;
    this.port = port;
    this.options = options;
  }

  get closed(): boolean {
    return this.#over.signal.aborted;
  }

  start(handlers: H): void {
    this.handlers = handlers;
    this.options.onWire({ what: "open" });
    this.port.start({ data: (bytes) => this.received(bytes), closed: () => this.#gone() });
  }

  close(): void {
    this.port.close();
  }

  protected abstract received(bytes: Uint8Array): void;

  /** Ends everything that waits for the port, because the port has closed. */
  protected abstract ended(): void;

  /** Starts the line's timer of the protocol. There is only one: an earlier timer is stopped. */
  protected wait(name: string, delayMs: number, work: () => void): void {
    this.stopWaiting();
    this.#timer = this.options.clock.startTimer(name, delayMs, work);
  }

  protected stopWaiting(): void {
    this.#timer?.clear();
    this.#timer = undefined;
  }

  /** Does `work` after all work that was passed earlier has ended. */
  protected inOrder<T>(work: () => T | Promise<T>): Promise<T> {
    const done = this.#inOrder.then(work);
    this.#inOrder = done;
    return done;
  }

  /** Resolves after `ms`, or when the port has closed. */
  protected pause(name: string, ms: number): Promise<void> {
    return sleep(this.options.clock, name, ms, this.#over.signal).catch(() => undefined);
  }

  /** Writes pieces after all earlier pieces; without pauses all pieces are written at once. */
  protected leave(pieces: Pieces): Promise<void> {
    if (this.leaving === undefined && pieces.every(({ pauseMs }) => pauseMs === 0)) {
      for (const { bytes } of pieces) this.write(bytes);
      return Promise.resolve();
    }
    const leaving = (this.leaving ?? Promise.resolve()).then(async () => {
      for (const { pauseMs, bytes } of pieces) {
        if (pauseMs > 0) await this.pause("fault pause", pauseMs);
        if (this.closed) break;
        this.write(bytes);
      }
      if (this.leaving === leaving) this.leaving = undefined;
    });
    this.leaving = leaving;
    return leaving;
  }

  /** Passes on the events that `reader` reads; a long silence ends an unfinished frame. */
  protected readFrames<E>(
    bytes: Uint8Array,
    reader: Reader<E>,
    handle: (event: E) => void,
    silence: { readonly name: string; readonly ms: number },
  ): void {
    this.#silence?.clear();
    for (const event of reader.push(bytes)) handle(event);
    if (!reader.isInside || this.closed) return;
    this.#silence = this.options.clock.startTimer(silence.name, silence.ms, () => {
      for (const event of reader.silence()) handle(event);
    });
  }

  protected write(bytes: Uint8Array): void {
    if (!this.options.faults.muted && !this.closed) this.port.write(bytes);
  }

  protected receivedMessage(bytes: Uint8Array): void {
    this.options.onWire({ what: this.what, direction: "in", bytes });
  }

  /** Records a sent message in the trace. `repeat`: how often it had been sent before. */
  protected sentMessage(bytes: Uint8Array, repeat = 0): void {
    if (this.options.faults.muted) return;
    const again = repeat > 0 ? { repeat } : {};
    this.options.onWire({ what: this.what, direction: "out", bytes, ...again });
  }

  #gone(): void {
    if (this.closed) return;
    this.#over.abort();
    this.ended();
    this.stopWaiting();
    this.#silence?.clear();
    this.options.onWire({ what: "close" });
    this.handlers?.closed();
  }
}
