import { encodeFixedReply, type FixedReply } from "../../../../src/concert/index.ts";
import { encodeFrame } from "../../../../src/tp-manager/terminal/concert/link/frame.ts";
import type { TestClock } from "../../../support/clocks/test-clock.ts";
import { LinePeer } from "./line-peer.ts";

export const [ENQ, ACK, NAK, EOT] = ["05", "06", "15", "04"] as const;

/** The reply to a request of 9.99 EUR, with the private field that came. */
function reply(change: Partial<FixedReply> = {}): FixedReply {
  return {
    posNumber: "01",
    status: "0",
    amountMinor: 999,
    paymentMode: "1",
    report: "497010XXXXXX1234".padEnd(55),
    currency: "978",
    private: "          ",
    ticket: null,
    ...change,
  };
}

const frameHex = (body: Uint8Array): string => Buffer.from(encodeFrame(body)).toString("hex");
export const replyHex = (change: Partial<FixedReply> = {}): string =>
  frameHex(encodeFixedReply(reply(change)));

/**
 * A terminal in a few lines that does its sessions in order. Tests replace single steps of it. What
 * a step returns is sent; "" sends nothing.
 */
export class SessionPeer extends LinePeer {
  readonly requests: string[] = [];
  onEnq: (count: number) => string = () => ACK;
  onRequest: (count: number) => string = () => ACK;
  /** After our first EOT that follows a request, the customer pays. */
  onPaid: () => void = () => this.send(this.answer());
  onReplyTaken: () => string = () => EOT;
  /** The reply of the terminal. */
  change: Partial<FixedReply> = {};
  #enqs = 0;
  #paid = false;
  #outgoing: string[] = [];
  #state: "idle" | "asking" | "telling" = "idle";

  constructor(clock: TestClock) {
    super(clock);
    this.hears = (hex) => this.#hears(hex);
  }

  /** The next customer comes. */
  again(): void {
    this.#paid = false;
  }

  /** The body of the request. */
  get body(): string {
    return Buffer.from(this.requests[0] ?? "", "hex")
      .toString("latin1")
      .slice(1, -2);
  }

  /** A reply that returns the private field of the request, as most terminals do. */
  answer(change: Partial<FixedReply> = {}): string {
    return replyHex({ private: this.body.slice(16, 26), ...this.change, ...change });
  }

  /** A session of the terminal with one or more frames, each after NAK of the previous one. */
  send(...frames: string[]): void {
    this.#outgoing = frames;
    this.clock.startTimer("terminal asks to speak", 1_000, () => {
      this.#state = "asking";
      this.say(ENQ);
    });
  }

  #hears(hex: string): void {
    if (hex === ENQ) {
      this.#enqs += 1;
      this.#answer(this.onEnq(this.#enqs));
    } else if (hex.startsWith("02")) {
      this.requests.push(hex);
      this.#answer(this.onRequest(this.requests.length));
    } else if (hex === EOT) {
      if (this.requests.length > 0 && !this.#paid) {
        this.#paid = true;
        this.onPaid();
      }
    } else if (hex === ACK && this.#state === "asking") {
      this.#state = "telling";
      this.#answer(this.#outgoing[0] ?? "");
    } else if (hex === ACK && this.#state === "telling") {
      this.#state = "idle";
      this.#answer(this.onReplyTaken());
    } else if (hex === NAK && this.#state === "telling") {
      if (this.#outgoing.length > 1) this.#outgoing.shift();
      this.#answer(this.#outgoing[0] ?? "");
    }
  }

  #answer(hex: string): void {
    if (hex !== "") this.say(hex);
  }
}
