import { type Demand, distinct } from "../../../zvt/tables/demands.ts";
import type {
  Baseline,
  LastTransaction,
  TerminalEvent,
  TerminalIdentity,
  TerminalStatus,
} from "../terminal.ts";
import { mergedIdentity, nobody, type Registered, type StatusAnswer } from "./introduction.ts";

/** Bit of the status byte of a registration, docs/zvt.md 6.1. */
const VENDING_MODE = 0x10;

/** The facts that a terminal has told about itself. Says what changed; puts nothing on the wire. */
export class KnownTerminal {
  readonly #emit: (event: TerminalEvent) => void;
  #identity: TerminalIdentity = nobody;
  /** Facts told on this very link, where another terminal may have taken the known one's place. */
  #told: TerminalIdentity = nobody;
  #status: TerminalStatus | null = null;
  #demands: readonly Demand[] = [];
  /** Told at registration, and true until another registration says otherwise. */
  #registration: Pick<Registered, "statusByte" | "demands"> = { statusByte: 0, demands: [] };
  #clockOffsetMs: number | null = null;

  constructor(emit: (event: TerminalEvent) => void) {
    this.#emit = emit;
  }

  get identity(): TerminalIdentity {
    return this.#identity;
  }

  get status(): TerminalStatus | null {
    return this.#status;
  }

  get demands(): readonly Demand[] {
    return this.#demands;
  }

  get vending(): boolean {
    return (this.#registration.statusByte & VENDING_MODE) !== 0;
  }

  get version(): string {
    return this.#told.version;
  }

  baseline(last: LastTransaction): Baseline {
    return { identity: this.#identity, last, clockOffsetMs: this.#clockOffsetMs };
  }

  /** A new link: nobody knows who is at its other end. */
  introduced(): void {
    this.#told = nobody;
  }

  registered({ terminalId, ...registration }: Registered): void {
    this.#registration = registration;
    this.identify({ terminalId });
  }

  identify(told: Partial<TerminalIdentity>): void {
    this.#told = mergedIdentity(this.#told, told);
  }

  publishIdentity(): void {
    if (JSON.stringify(this.#told) === JSON.stringify(this.#identity)) return;
    this.#identity = this.#told;
    this.#emit({ type: "identity", identity: this.#identity });
  }

  learn({ status, identity, clockOffsetMs, demands }: StatusAnswer): void {
    if (clockOffsetMs !== null) this.#clockOffsetMs = clockOffsetMs;
    this.identify(identity);
    const all = distinct([...this.#registration.demands, ...demands]);
    const merged: TerminalStatus = all.length > 0 ? { ...status, call: "1" } : status;
    const changed = JSON.stringify(merged) !== JSON.stringify(this.#status);
    const before = this.#demands;
    this.#status = merged;
    this.#demands = all;
    if (changed) this.#emit({ type: "status", status: merged });
    for (const demand of all) {
      if (!before.includes(demand)) this.#emit({ type: "demand", demand });
    }
  }

  disconnected(): void {
    this.#status = null;
    this.#demands = [];
  }
}
