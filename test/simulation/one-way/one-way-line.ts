import { sleep } from "../../../src/shared/time.ts";
import type {
  Dialogue,
  DialogueListener,
  Opened,
} from "../../../src/tp-manager/terminal/one-way/dialogue.ts";
import type { Life } from "../life.ts";
import type { OneWayDevice } from "./one-way-device.ts";
import type { Connection, RegisterEnd } from "./one-way-kinds.ts";

const ANSWER_MS = 100;
const SILENCE_MS = 3_000;

/** The way of one process's life to a terminal that cannot be asked. */
export class OneWayLine implements Dialogue, RegisterEnd {
  readonly #life: Life;
  readonly #device: OneWayDevice;
  /** A financial request leaves. */
  readonly #leaves: () => string;
  #listener: DialogueListener | undefined;
  #connection: Connection | undefined;
  /** Our own request has not reached the terminal yet. */
  #isSpeaking = false;

  constructor(life: Life, device: OneWayDevice, leaves: () => string) {
    this.#life = life;
    this.#device = device;
    this.#leaves = leaves;
  }

  get problem(): string | null {
    return this.#device.reachable ? null : "no line";
  }

  get isShared(): boolean {
    return !this.#device.kind.isBare;
  }

  get isSpeaking(): boolean {
    return this.#isSpeaking;
  }

  get alive(): boolean {
    return this.#life.alive;
  }

  start(listener: DialogueListener): void {
    this.#listener = listener;
    this.#device.attach(this);
  }

  async open(signal: AbortSignal): Promise<Opened> {
    this.#drop();
    this.#isSpeaking = true;
    const opened = await this.#ask(signal);
    if (!opened.opened) this.#isSpeaking = false;
    else this.#connection = { isOpen: true };
    return opened;
  }

  leave(): void {
    this.#isSpeaking = false;
    this.#drop();
  }

  async send(
    request: Uint8Array,
    mayLeave: () => boolean,
  ): Promise<"taken" | "refused" | "unanswered" | "lapsed"> {
    const connection = this.#connection;
    if (!connection?.isOpen || !this.#device.reachable) return "lapsed";
    this.#device.speaksFirst();
    // A process that ended because of what it received sends nothing.
    if (!this.#life.alive || !mayLeave()) return "lapsed";
    const order = this.#leaves();
    const heard = this.#device.hears(request, order, connection);
    await sleep(this.#life.clock, "request", heard === "taken" ? ANSWER_MS : SILENCE_MS);
    this.#isSpeaking = false;
    return this.#device.reachable || heard === "refused" ? heard : "unanswered";
  }

  async ping(signal: AbortSignal): Promise<Opened> {
    this.#drop();
    return await this.#ask(signal);
  }

  close(): Promise<void> {
    this.#drop();
    return Promise.resolve();
  }

  deliver(reply: Uint8Array, on: Connection | "newest" | undefined): boolean {
    if (!this.alive || !this.#listener || !this.#device.reachable) return false;
    const way = on === "newest" ? this.#connection : on;
    if (this.#device.kind.isBare && (!way?.isOpen || way !== this.#connection)) return false;
    return this.#listener.reply(reply, this.#isSpeaking);
  }

  damage(): void {
    if (this.alive && this.#device.reachable) this.#listener?.malformed("a damaged frame");
  }

  /** The line is gone for a while. */
  broken(ms: number): void {
    if (!this.alive) return;
    this.#listener?.link("no line");
    const wasOpen = this.#connection?.isOpen === true && !this.#isSpeaking;
    this.#drop();
    if (this.#device.kind.isBare && wasOpen) this.#listener?.gone("the connection was closed");
    this.#life.clock.startTimer("line", ms, () => this.#listener?.link(this.problem));
  }

  #drop(): void {
    if (this.#connection) this.#connection.isOpen = false;
    this.#connection = undefined;
  }

  async #ask(signal: AbortSignal): Promise<Opened> {
    const device = this.#device;
    if (!device.reachable) return { opened: false, why: "away", text: "no line" };
    const isSilent = device.habits.isLocked;
    await sleep(this.#life.clock, "opening", isSilent ? SILENCE_MS : ANSWER_MS, signal);
    if (!device.reachable) return { opened: false, why: "away", text: "no line" };
    if (isSilent) return { opened: false, why: "silent", text: "no answer" };
    return device.busy ? { opened: false, why: "busy", text: "busy" } : { opened: true };
  }
}
