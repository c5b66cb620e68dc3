import type { Socket } from "node:net";
import {
  type Apdu,
  ApduReader,
  encodeApdu,
  encodeMessage,
  type FieldInputs,
  type MessageInput,
  type MessageName,
} from "../../../src/zvt/index.ts";

/** The line went away under the terminal's dialogue. */
export class LineGone extends Error {}

/** One transaction as a terminal reports it (docs/zvt.md 7.1); what is null is left out. */
export interface TerminalRecord {
  /** 0 is good. */
  readonly result: number | null;
  readonly amountMinor: number | null;
  readonly receipt: string | null;
  readonly trace: string | null;
  /** Of a reversal. */
  readonly originalTrace: string | null;
  /** MMDD and HHMMSS by the terminal's clock. */
  readonly date: string | null;
  readonly time: string | null;
  readonly card: string | null;
}

export const TERMINAL_ID = "52004711";
export const EURO = "0978";
const ABORT = 0x06b0;

export function fieldsOf(record: TerminalRecord): FieldInputs {
  const { result, amountMinor, trace, originalTrace, time, date, card, receipt } = record;
  return {
    ...(result === null ? {} : { resultCode: result }),
    ...(amountMinor === null ? {} : { amount: amountMinor }),
    ...(trace === null ? {} : { trace }),
    ...(originalTrace === null ? {} : { originalTrace }),
    ...(time === null ? {} : { time }),
    ...(date === null ? {} : { date }),
    ...(card === null ? {} : { pan: card }),
    terminalId: TERMINAL_ID,
    currency: EURO,
    ...(receipt === null ? {} : { receiptNumber: receipt }),
  };
}

/** The terminal's end of one connection. */
export class ZvtLine {
  readonly #socket: Socket;
  readonly #reader = new ApduReader();
  readonly #arrived: Apdu[] = [];
  #take: PromiseWithResolvers<Apdu> | undefined;
  #isGone = false;
  #aborted = Promise.withResolvers<void>();

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      for (const event of this.#reader.push(bytes)) {
        if (event.event === "apdu") this.#arrives(event.apdu);
      }
    });
    socket.on("close", () => {
      this.#isGone = true;
      this.#take?.reject(new LineGone());
    });
  }

  /** The next message of the register. Rejects with {@link LineGone}. */
  async next(): Promise<Apdu> {
    const first = this.#arrived.shift();
    if (first) return first;
    if (this.#isGone) throw new LineGone();
    this.#take = Promise.withResolvers<Apdu>();
    return await this.#take.promise;
  }

  /** Resolves when the register has asked for an abort; it was answered 80 00. */
  get aborted(): Promise<void> {
    return this.#aborted.promise;
  }

  send(name: MessageName, input: MessageInput = {}): void {
    if (this.#isGone) throw new LineGone();
    this.#socket.write(encodeApdu(encodeMessage(name, input)));
  }

  /** One message as master; the control field of the register's answer. */
  async deliver(name: MessageName, input: MessageInput = {}): Promise<number> {
    this.send(name, input);
    return (await this.next()).control;
  }

  /** The line is lost, and what has not been read is too. */
  hangUp(): void {
    this.#isGone = true;
    this.#socket.destroy();
    this.#take?.reject(new LineGone());
  }

  #arrives(apdu: Apdu): void {
    if (apdu.control === ABORT) {
      this.send("positive-acknowledgement");
      this.#aborted.resolve();
      this.#aborted = Promise.withResolvers<void>();
      return;
    }
    const take = this.#take;
    this.#take = undefined;
    if (take) take.resolve(apdu);
    else this.#arrived.push(apdu);
  }
}
