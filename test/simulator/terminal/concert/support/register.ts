import { sleep, within } from "../../../../../src/shared/time.ts";
import { steppedClock } from "../../../../support/clocks/stepped-clock.ts";
import { type RegisterWire, serialWire, tcpWire } from "../../support/register-wire.ts";

export const ENQ = "\x05";
export const ACK = "\x06";
export const NAK = "\x15";
export const EOT = "\x04";
/**
 * For bytes that are on their way when the terminal is idle already: the kernel moves them over a
 * pseudo-terminal by a thread of its own, which a busy machine lets wait.
 */
const GRACE_MS = 150;
const STX = "\x02";
const ETX = "\x03";
const names: Readonly<Record<string, string>> = {
  [ENQ]: "enq",
  [ACK]: "ack",
  [NAK]: "nak",
  [EOT]: "eot",
};

/** STX, body, ETX and the check byte; written here once more, apart from what is tested. */
export function frameOf(body: string): string {
  let sum = 0x03;
  for (const byte of Buffer.from(body, "latin1")) sum ^= byte;
  return `${STX}${body}${ETX}${String.fromCharCode(sum)}`;
}

/**
 * A register that does only what the test says. It hears "enq", "ack", "nak", "eot", "closed",
 * frames as their body after a colon, frames with a wrong check byte as "bad", and other bytes as
 * "?" and their number; without sessions whatever came until a silence.
 */
export class ScriptedRegister {
  readonly #wire: RegisterWire;
  readonly #heard: string[] = [];
  #rest = "";
  #arrivals = 0;
  #wake: () => void = () => {};
  /** Answers ENQ and frames by itself. */
  polite = true;

  readonly #idle: () => Promise<void>;

  private constructor(wire: RegisterWire, sessions: boolean, idle: () => Promise<void>) {
    this.#wire = wire;
    this.#idle = idle;
    wire.listen(
      (bytes) => {
        this.#arrivals += 1;
        const text = Buffer.from(bytes).toString("latin1");
        if (sessions) this.#read(text);
        else this.#hear(text);
      },
      () => this.#hear("closed"),
    );
  }

  /** `idle` resolves when the terminal has nothing more to do. */
  static async open(
    at: number | string,
    sessions: boolean,
    idle: () => Promise<void>,
  ): Promise<ScriptedRegister> {
    const wire = typeof at === "number" ? await tcpWire(at) : await serialWire(at);
    return new ScriptedRegister(wire, sessions, idle);
  }

  say(text: string): void {
    this.#wire.write(Buffer.from(text, "latin1"));
  }

  /**
   * The next thing heard; undefined when nothing comes for so long, or soon after an idle terminal
   * has ended its session.
   */
  async next(patienceMs: number, afterEnd = false): Promise<string | undefined> {
    while (this.#heard.length === 0) {
      const before = this.#arrivals;
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      const over = this.#idle().then(() => sleep(steppedClock, "end of an exchange", GRACE_MS));
      const either = afterEnd ? Promise.race([woken, over]) : woken;
      await within(steppedClock, "register", patienceMs, either);
      // Pieces of a frame that is not whole yet are no silence.
      if (this.#arrivals === before) break;
    }
    return this.#heard.shift();
  }

  /** Everything until nothing comes for so long, or the line is closed. */
  async rest(patienceMs: number): Promise<string[]> {
    const exchange: string[] = [];
    for (;;) {
      const heard = await this.next(patienceMs, exchange.at(-1) === "eot");
      if (heard === undefined) return exchange;
      exchange.push(heard);
      if (heard === "closed") return exchange;
    }
  }

  /** A whole request as registers make it, and everything that follows. */
  async ask(body: string, patienceMs: number): Promise<string[]> {
    const exchange: string[] = [];
    for (const text of [ENQ, frameOf(body)]) {
      this.say(text);
      const answer = await this.next(patienceMs);
      exchange.push(answer ?? "silence");
      if (answer !== "ack") break;
    }
    this.say(EOT);
    return [...exchange, ...(await this.rest(patienceMs))];
  }

  close(): Promise<void> {
    return this.#wire.end();
  }

  #hear(what: string): void {
    this.#heard.push(what);
    this.#wake();
  }

  #read(text: string): void {
    this.#rest += text;
    for (let token = this.#token(); token !== undefined; token = this.#token()) {
      this.#hear(token);
      if (!this.polite) continue;
      if (token === "enq" || token.startsWith(":")) this.say(ACK);
      if (token === "bad") this.say(NAK);
    }
  }

  /** Takes the next token off the bytes; undefined while it is not whole. */
  #token(): string | undefined {
    const [first] = this.#rest;
    if (first === undefined) return undefined;
    const name = names[first];
    if (name !== undefined) return this.#cut(1, name);
    if (first !== STX) {
      const end = [...this.#rest].findIndex((c) => c === STX || names[c] !== undefined);
      const count = end < 0 ? this.#rest.length : end;
      return this.#cut(count, `?${count}`);
    }
    const end = this.#rest.indexOf(ETX);
    if (end < 0 || this.#rest.length < end + 2) return undefined;
    const body = this.#rest.slice(1, end);
    const good = this.#rest.slice(0, end + 2) === frameOf(body);
    return this.#cut(end + 2, good ? `:${body}` : "bad");
  }

  #cut(length: number, token: string): string {
    this.#rest = this.#rest.slice(length);
    return token;
  }
}
