/** The control bytes at the start and the end of a frame (docs/concert.md 2.3). */
const STX = 0x02;
const ETX = 0x03;

/** The control bytes of a session, with their descriptions for the trace (docs/concert.md 2.2). */
export const controls = {
  enq: { byte: 0x05, says: "asks to speak" },
  ack: { byte: 0x06, says: "understood" },
  nak: { byte: 0x15, says: "no" },
  eot: { byte: 0x04, says: "has said all" },
} as const;
export type ControlName = keyof typeof controls;
const controlNames = Object.keys(controls) as readonly ControlName[];

export type Received =
  | { readonly kind: ControlName }
  | { readonly kind: "frame"; readonly body: Uint8Array }
  /** Bytes that are no frame; `why`: the reason, for the trace. */
  | { readonly kind: "junk"; readonly why: string };

/** The longest body that is read, in bytes; real bodies are shorter. The limit saves memory. */
const BODY_BYTES_MAX = 2_048;
const BLANK = 0x20;
const lineEnds: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d]);

type Position =
  /** Between two frames, where control bytes are read. */
  | "outside"
  | "noise"
  | "body"
  | "check"
  /** Inside a damaged frame, whose bytes are skipped until its end or the next silence. */
  | "broken"
  | "broken-check";

/**
 * Splits the bytes of a register into control bytes and frames. The check byte of a frame can have
 * any value, even that of a control byte (docs/concert.md 2.3).
 */
export class ByteReader {
  #position: Position = "outside";
  #body: number[] = [];

  /** Whether a frame or noise has begun and not ended. */
  get isInside(): boolean {
    return this.#position !== "outside";
  }

  push(bytes: Uint8Array): readonly Received[] {
    return [...bytes].flatMap((byte) => this.#take(byte) ?? []);
  }

  /** Ends an unfinished frame, because the register has been silent for too long. */
  silence(): readonly Received[] {
    const why = this.#position === "noise" ? "bytes that are no frame" : "a frame that was cut";
    return this.isInside ? [this.#junk(why)] : [];
  }

  #take(byte: number): Received | undefined {
    switch (this.#position) {
      case "outside":
      case "noise":
        return this.#outside(byte);
      case "body":
        this.#inBody(byte);
        return undefined;
      case "check":
        return this.#checked(byte);
      case "broken":
        if (byte === STX) this.#open();
        else if (byte === ETX) this.#position = "broken-check";
        return undefined;
      case "broken-check":
        return this.#junk("a frame with a byte that no frame has");
    }
  }

  #outside(byte: number): Received | undefined {
    const control = controlNames.find((name) => controls[name].byte === byte);
    if (control) {
      this.#position = "outside";
      return { kind: control };
    }
    if (byte === STX) this.#open();
    else this.#position = byte === ETX ? "broken-check" : "noise";
    return undefined;
  }

  #inBody(byte: number): void {
    if (byte === STX) this.#open();
    else if (byte === ETX) this.#position = "check";
    else {
      // A body contains no control bytes except the line ends of a receipt.
      const isAllowed = byte >= BLANK || lineEnds.has(byte);
      if (isAllowed && this.#body.length < BODY_BYTES_MAX) this.#body.push(byte);
      else this.#position = "broken";
    }
  }

  #checked(byte: number): Received {
    const sum = this.#body.reduce((xor, one) => xor ^ one, ETX);
    if (sum !== byte) return this.#junk("a frame with a wrong check byte");
    const body = Uint8Array.from(this.#body);
    this.#position = "outside";
    return { kind: "frame", body };
  }

  #open(): void {
    this.#position = "body";
    this.#body = [];
  }

  #junk(why: string): Received {
    this.#position = "outside";
    return { kind: "junk", why };
  }
}

/** Returns a frame with a body; `damaged`: one bit of the check byte is wrong. */
export function framed(body: Uint8Array, damaged: boolean): Uint8Array {
  const sum = body.reduce((xor, byte) => xor ^ byte, ETX);
  return Uint8Array.of(STX, ...body, ETX, damaged ? sum ^ 1 : sum);
}
