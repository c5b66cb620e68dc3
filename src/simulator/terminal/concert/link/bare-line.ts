import { readTagged } from "../../../../concert/index.ts";
import { type Clock, sleep, type Timer } from "../../../../shared/time.ts";
import type { BytePort } from "../../port/byte-port.ts";
import { disturbedPieces } from "../../port/disturbance.ts";
import type {
  Closing,
  Interference,
  LineHandlers,
  RegisterLine,
  Transport,
  WireListener,
} from "./register-line.ts";
import type { Told } from "./session-machine.ts";

interface BareLineOptions {
  readonly clock: Clock;
  readonly transport: Transport;
  /** Nothing more for so long behind a message that says all it has to. */
  readonly gapMs: number;
  /** Nothing more for so long behind one that does not. */
  readonly sessionMs: number;
  readonly interference: Interference;
  /** Whether a message with these tags says all that its action asks for. */
  saysAll(tags: ReadonlyMap<string, string>): boolean;
  readonly onWire: WireListener;
}

/** Above every message that a terminal takes. */
const MESSAGE_BYTES_MAX = 8_192;

/**
 * Messages of tags without anything around them (docs/concert.md 4.7). Nothing ends a message, so
 * the silence behind it does.
 */
export class BareLine implements RegisterLine {
  readonly inSessions = false;
  readonly #port: BytePort;
  readonly #options: BareLineOptions;
  #handlers: LineHandlers | undefined;
  #read: Uint8Array = new Uint8Array(0);
  #timer: Timer | undefined;
  #closed = false;
  #closing: Closing | undefined;
  #out: Promise<unknown> = Promise.resolve();

  constructor(port: BytePort, options: BareLineOptions) {
    this.#port = port;
    this.#options = options;
  }

  get name(): string {
    return this.#port.name;
  }

  get transport(): Transport {
    return this.#options.transport;
  }

  get closed(): boolean {
    return this.#closed;
  }

  start(handlers: LineHandlers): void {
    this.#handlers = handlers;
    this.#options.onWire({ what: "open" });
    this.#port.start({ data: (bytes) => this.#received(bytes), closed: () => this.#gone() });
  }

  /** Handing a message over is all that can be known of it. */
  tell(body: Uint8Array): Promise<Told | "closed"> {
    const told = this.#out.then(() => this.#tell(body));
    this.#out = told;
    return told;
  }

  finish(): void {
    if (this.transport !== "tcp") return;
    void this.#out.then(() => {
      if (this.#closing !== "left-open") this.#port.close();
    });
  }

  async #tell(body: Uint8Array): Promise<Told | "closed"> {
    const { interference, onWire } = this.#options;
    const bytes = interference.rewrite(body);
    this.#closing = this.transport === "tcp" ? interference.closing() : undefined;
    if (this.#closing !== "before") await this.#write(bytes);
    if (this.#closing === "before" || this.#closing === "middle") this.#port.close();
    if (this.#closed) return "closed";
    if (!interference.mute) onWire({ what: "body", direction: "out", body: bytes, repeat: 0 });
    return "delivered";
  }

  async #write(bytes: Uint8Array): Promise<void> {
    const { clock, interference } = this.#options;
    const half = this.#closing === "middle" ? [{ kind: "half" } as const] : [];
    const disturbances = [...half, ...interference.disturb()];
    for (const { pauseMs, bytes: piece } of disturbedPieces(bytes, disturbances)) {
      if (pauseMs > 0) await sleep(clock, "fault pause", pauseMs);
      if (!interference.mute) this.#port.write(piece);
    }
  }

  #received(bytes: Uint8Array): void {
    this.#timer?.clear();
    const room = Math.max(MESSAGE_BYTES_MAX - this.#read.length, 0);
    this.#read = Uint8Array.of(...this.#read, ...bytes.subarray(0, room));
    const { clock, gapMs, sessionMs } = this.#options;
    const waitMs = this.#awaitsMore ? sessionMs : gapMs;
    this.#timer = clock.startTimer("end of a message", waitMs, () => this.#whole());
  }

  get #awaitsMore(): boolean {
    const { tags, fault } = readTagged(this.#read);
    if (fault) return fault.code === "incomplete" && this.#read.length < MESSAGE_BYTES_MAX;
    return !this.#options.saysAll(new Map(tags));
  }

  #whole(): void {
    const body = trimmed(this.#read);
    this.#read = new Uint8Array(0);
    if (body.length === 0) return;
    this.#options.onWire({ what: "body", direction: "in", body, repeat: 0 });
    this.#handlers?.request(body)?.();
  }

  #gone(): void {
    if (this.#closed) return;
    this.#timer?.clear();
    // A message that was whole has been received, whatever the register does next.
    if (!this.#awaitsMore) this.#whole();
    this.#closed = true;
    this.#options.onWire({ what: "close" });
    this.#handlers?.closed();
  }
}

const CR = 0x0d;
const LF = 0x0a;

/** Registers may end a message with a line end (docs/concert.md 4.7). */
function trimmed(bytes: Uint8Array): Uint8Array {
  const last = bytes.findLastIndex((byte) => byte !== CR && byte !== LF);
  return bytes.slice(0, last + 1);
}
