import { sleep, within } from "../../../../../src/shared/time.ts";
import {
  ACK,
  encodeFrame,
  FrameReader,
  NAK,
} from "../../../../../src/simulator/terminal/zvt/link/frame.ts";
import { ApduReader } from "../../../../../src/simulator/terminal/zvt/link/lines.ts";
import { PATIENCE_MS } from "../../../../support/clocks/patience.ts";
import { steppedClock } from "../../../../support/clocks/stepped-clock.ts";
import { type RegisterWire, serialWire, tcpWire } from "../../support/register-wire.ts";

/** Everything a register under test control may hear, in order. */
type ReceivedMessage = { readonly apdu: string } | "ack" | "nak" | "closed";

/** A register that does only what the test says. Messages are hexadecimal, frames are implied. */
export class ScriptedRegister {
  readonly #heard: ReceivedMessage[] = [];
  readonly #wakers = new Set<() => void>();
  readonly #wire: RegisterWire;
  /** Serial: whether good frames get their ACK. */
  sendsAck = true;

  private constructor(wire: RegisterWire) {
    this.#wire = wire;
  }

  static async tcp(port: number, host = "127.0.0.1"): Promise<ScriptedRegister> {
    const wire = await tcpWire(port, host);
    const register = new ScriptedRegister(wire);
    const reader = new ApduReader();
    wire.listen(
      (bytes) => {
        for (const apdu of reader.push(bytes)) register.#hear({ apdu: hex(apdu) });
      },
      () => register.#hear("closed"),
    );
    return register;
  }

  /** Opens a pseudo-terminal as a program opens a serial port. */
  static async serial(path: string): Promise<ScriptedRegister> {
    const wire = await serialWire(path);
    const register = new ScriptedRegister(wire);
    const reader = new FrameReader();
    wire.listen(
      (bytes) => {
        for (const event of reader.push(bytes)) {
          if (event.kind === "frame") {
            if (register.sendsAck) wire.write(Uint8Array.of(ACK));
            register.#hear({ apdu: hex(event.apdu) });
          } else if (event.kind === "bad-frame") wire.write(Uint8Array.of(NAK));
          else if (event.kind !== "noise") register.#hear(event.kind);
        }
      },
      () => register.#hear("closed"),
    );
    return register;
  }

  /** Sends one message; on a serial line as a frame. */
  send(apdu: string): void {
    const bytes = fromHex(apdu);
    this.#wire.write(this.#wire.serial ? encodeFrame(bytes) : bytes);
  }

  /** Sends bytes as they are. */
  sendBytes(bytes: string): void {
    this.#wire.write(fromHex(bytes));
  }

  /** The next thing heard; ACK bytes are skipped unless asked for. */
  async next({ acks = false, patienceMs = PATIENCE_MS } = {}): Promise<ReceivedMessage> {
    const found = await within(steppedClock, "register", patienceMs, this.#take(acks));
    if (found === undefined) throw new Error(`nothing heard for ${patienceMs} ms`);
    return found;
  }

  async nextApdu(): Promise<string> {
    const heard = await this.next();
    if (typeof heard === "string") throw new Error(`heard ${heard} in place of a message`);
    return heard.apdu;
  }

  /** Nothing but ACK bytes arrives for so long. */
  async hearsNothing(ms: number): Promise<boolean> {
    await sleep(steppedClock, "silence", ms);
    return this.#heard.every((heard) => heard === "ack");
  }

  /**
   * Sends a command and answers 80 00 00 to everything until the command is over. Answers all
   * messages of the terminal, 80 00 and 84 xx included.
   */
  async run(command: string, answer: (apdu: string) => string = () => "800000"): Promise<string[]> {
    this.send(command);
    const messages: string[] = [];
    for (;;) {
      const apdu = await this.nextApdu();
      messages.push(apdu);
      if (apdu.startsWith("84")) return messages;
      if (apdu.startsWith("80")) {
        if (!hasCompletion(command)) return messages;
        continue;
      }
      this.send(answer(apdu));
      if (apdu.startsWith("060f") || apdu.startsWith("061e")) return messages;
      // Read Card has no completion of its own (docs/zvt.md 6.7).
      if (command.startsWith("06c0") && apdu.startsWith("040f")) return messages;
    }
  }

  /** Sends a payment and answers its prompts, but not the report: that is handed back. */
  async runToReport(command: string): Promise<string> {
    this.send(command);
    for (;;) {
      const apdu = await this.nextApdu();
      if (apdu.startsWith("040f")) return apdu;
      if (!apdu.startsWith("80")) this.send("800000");
    }
  }

  /**
   * Sends a command and answers 80 00 00 to everything, whatever comes: returns what it received as
   * control fields, with "closed", "silence" or the end of the command as the last.
   */
  async attempt(command: string, patienceMs: number): Promise<string[]> {
    this.send(command);
    const exchange: string[] = [];
    for (;;) {
      const heard = await within(steppedClock, "register", patienceMs, this.#take(false));
      if (typeof heard !== "object") return [...exchange, heard ?? "silence"];
      const control = heard.apdu.slice(0, 4);
      exchange.push(control);
      if (control.startsWith("84")) return exchange;
      if (!control.startsWith("80")) this.send("800000");
      if (control === "060f" || control === "061e") return exchange;
    }
  }

  close(): Promise<void> {
    return this.#wire.end();
  }

  #hear(heard: ReceivedMessage): void {
    this.#heard.push(heard);
    for (const wake of [...this.#wakers]) wake();
  }

  async #take(acks: boolean): Promise<ReceivedMessage> {
    for (;;) {
      const heard = this.#heard.shift();
      if (heard !== undefined && (acks || heard !== "ack")) return heard;
      if (heard === undefined) {
        await new Promise<void>((resolve) => {
          const wake = () => {
            this.#wakers.delete(wake);
            resolve();
          };
          this.#wakers.add(wake);
        });
      }
    }
  }
}

function hasCompletion(command: string): boolean {
  return !/^(0602|06b0|06e[012]|0830|0840|0850|0802)/.test(command);
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

export function fromHex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));
}
