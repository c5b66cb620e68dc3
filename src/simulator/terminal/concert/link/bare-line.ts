import { readTagged } from "../../../../concert/index.ts";
import { disturbedPieces } from "../../port/disturbance.ts";
import { type Closing, ConcertLine, type LineOptions } from "./concert-line.ts";
import type { Delivery } from "./session-machine.ts";

interface BareLineOptions extends LineOptions {
  /** The silence that ends a message with all members that it needs. */
  readonly gapMs: number;
  /** The silence that ends every other message. */
  readonly sessionMs: number;
  /** Whether a message with these tags has all members that its action needs. */
  saysAll(tags: ReadonlyMap<string, string>): boolean;
}

/** Above every message that a terminal takes. */
const MESSAGE_BYTES_MAX = 8_192;

/**
 * Messages of tags without anything around them (docs/concert.md 4.7). Nothing ends a message, so
 * the silence after it does.
 */
export class BareLine extends ConcertLine<BareLineOptions> {
  readonly inSessions = false;
  #read: Uint8Array = new Uint8Array(0);
  #closing: Closing | undefined;
  #out: Promise<unknown> = Promise.resolve();

  /** A message counts as delivered when it was handed to the network. */
  tell(body: Uint8Array): Promise<Delivery | "closed"> {
    const told = this.#out.then(() => this.#tell(body));
    this.#out = told;
    return told;
  }

  finish(): void {
    if (this.transport !== "tcp") return;
    void this.#out.then(() => {
      if (this.#closing !== "left-open") this.close();
    });
  }

  async #tell(body: Uint8Array): Promise<Delivery | "closed"> {
    const { interference } = this.options;
    const bytes = interference.rewrite(body);
    this.#closing = this.transport === "tcp" ? interference.closing() : undefined;
    if (this.#closing !== "before") {
      const half = this.#closing === "middle" ? [{ kind: "half" } as const] : [];
      await this.leave(disturbedPieces(bytes, [...half, ...interference.disturb(bytes)]));
    }
    if (this.#closing === "before" || this.#closing === "middle") this.close();
    if (this.closed) return "closed";
    this.sentMessage(bytes);
    return "delivered";
  }

  protected override received(bytes: Uint8Array): void {
    const room = Math.max(MESSAGE_BYTES_MAX - this.#read.length, 0);
    this.#read = Uint8Array.of(...this.#read, ...bytes.subarray(0, room));
    const { gapMs, sessionMs } = this.options;
    const waitMs = this.#awaitsMore ? sessionMs : gapMs;
    this.wait("end of a message", waitMs, () => this.#whole());
  }

  get #awaitsMore(): boolean {
    const { tags, fault } = readTagged(this.#read);
    if (fault) return fault.code === "incomplete" && this.#read.length < MESSAGE_BYTES_MAX;
    return !this.options.saysAll(new Map(tags));
  }

  #whole(): void {
    const body = trimmed(this.#read);
    this.#read = new Uint8Array(0);
    if (body.length === 0) return;
    this.receivedMessage(body);
    this.handlers?.request(body)?.();
  }

  /** A message that was whole has been received, whatever the register does next. */
  protected override ended(): void {
    this.stopWaiting();
    if (!this.#awaitsMore) this.#whole();
  }
}

const CR = 0x0d;
const LF = 0x0a;

/** Registers may end a message with a line end (docs/concert.md 4.7). */
function trimmed(bytes: Uint8Array): Uint8Array {
  const last = bytes.findLastIndex((byte) => byte !== CR && byte !== LF);
  return bytes.slice(0, last + 1);
}
