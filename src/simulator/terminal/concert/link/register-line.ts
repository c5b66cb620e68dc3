import type { Disturbance } from "../../port/disturbance.ts";
import type { Told, Word } from "./session-machine.ts";

export type Transport = "tcp" | "serial";

/**
 * A line carries whole bodies to and from one register. Two kinds: `session-line.ts` (the dialogue
 * of ENQ, frames and EOT) and `bare-line.ts` (bodies as they are). The code above knows neither.
 */
export interface RegisterLine {
  readonly name: string;
  readonly transport: Transport;
  readonly closed: boolean;
  /** A line without sessions carries an answer to its question, and nothing of its own accord. */
  readonly inSessions: boolean;
  start(handlers: LineHandlers): void;
  /** One attempt to tell the register something, once nothing else is said. */
  tell(body: Uint8Array): Promise<Told | "closed">;
  /** The exchange is over: the connection of one exchange is closed. */
  finish(): void;
}

export interface LineHandlers {
  /** Whether a register that asks to speak may speak. */
  mayBegin(): boolean;
  /** Reads a request: what begins it, or undefined for one that is refused on the line. */
  request(body: Uint8Array): (() => void) | undefined;
  closed(): void;
}

/** Everything that happens on a wire, for the trace; bodies are not safe to show as they are. */
export type WireEvent =
  | { readonly what: "open" | "close" }
  | { readonly what: "enq" | "ack" | "nak" | "eot"; readonly direction: "in" | "out" }
  | {
      readonly what: "body";
      readonly direction: "in" | "out";
      readonly body: Uint8Array;
      readonly repeat: number;
    }
  | { readonly what: "junk"; readonly note: string };

export type WireListener = (event: WireEvent) => void;

/**
 * Asked by a line at the moments at which it can be disturbed. The armed faults answer; a fault
 * that is handed out here counts as used.
 */
export interface Interference {
  /** The other side hears nothing at all from us. */
  readonly mute: boolean;
  /** The word for an ENQ in place of ours; undefined: no fault. */
  enquiry(): Word | undefined;
  /** The word for a good request in place of ACK, and how late it comes. */
  request(): { readonly word?: Word; readonly taken?: boolean; readonly delayMs: number };
  /** The body in place of ours, the same in every repeat. */
  rewrite(body: Uint8Array): Uint8Array;
  /** Asked for each transmission of a body, repeats included. */
  disturb(): readonly Disturbance[];
  /** Whether the EOT that ends our session is left out. */
  withholdsEot(): boolean;
  /** Every byte carries the bit of even parity. */
  parity(): boolean;
  /** Over TCP without sessions: what becomes of the connection; undefined: the usual. */
  closing(): Closing | undefined;
}

/** Seen from the answer; `left-open`: the terminal does not close it. */
export type Closing = "before" | "middle" | "left-open";
