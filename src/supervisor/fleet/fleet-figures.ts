import { parseJson } from "../../shared/json.ts";
import { newId } from "../../shared/new-id.ts";
import type { Logger } from "../../shared/process/logger.ts";
import { readOr } from "../../shared/read-or.ts";
import { type Clock, isoTime } from "../../shared/time.ts";
import { allowed, type ContentOf, FLEET_VERSION, fleetDocuments } from "./documents.ts";
import type { FleetMachine } from "./fleet-facts.ts";
import type { FleetLink } from "./fleet-link.ts";
import type { FleetStore, Measured } from "./fleet-store.ts";

interface FigureParts {
  readonly link: FleetLink;
  readonly store: FleetStore;
  readonly machine: FleetMachine;
  readonly kiosk: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * How many figures of the time without a connection are sent in a round of 5 s: a day's in an hour,
 * so that many kiosks that return at once do not flood their broker.
 */
const LATE_EACH_ROUND = 2;

/**
 * Keeps the figures of each minute until the broker has them, at most a day's, in a bound of their
 * own, so that no payment and no alarm is dropped for them (docs/fleet.md 4.4).
 */
export class FleetFigures {
  readonly #parts: FigureParts;
  /** The numbers of the figures that wait for their PUBACK. */
  readonly #flying = new Set<number>();

  constructor(parts: FigureParts) {
    this.#parts = parts;
  }

  /** Keeps the present figures, and sends them if there is a connection. */
  measure(figures: Omit<ContentOf<"metrics">, "number">): void {
    const { store, machine, kiosk, clock } = this.#parts;
    const atMs = clock.now();
    const head = { version: FLEET_VERSION, id: newId(), kiosk, at: isoTime(atMs) };
    const text = JSON.stringify({ ...head, ...figures });
    const measured = { atMs, boot: machine.boot, upMs: machine.upMs(), text };
    // On a full disk the figures are sent all the same, because they say so.
    this.#send({ ...measured, number: readOr(0, () => store.keep(measured)) });
  }

  /** Sends some of the figures that the broker lacks, oldest first, when nothing else waits. */
  sendLate(): void {
    const { store, link } = this.#parts;
    if (!link.isOnline || store.waiting > 0) return;
    const waiting = store.measured(LATE_EACH_ROUND + this.#flying.size);
    const late = waiting.filter(({ number }) => !this.#flying.has(number));
    for (const one of late.slice(0, LATE_EACH_ROUND)) this.#send(one);
  }

  #send(measured: Measured & { readonly number: number }): void {
    const { store, link, clock, log } = this.#parts;
    const { number, text } = measured;
    const { schema, expirySeconds } = fleetDocuments.metrics;
    const atMs = this.#timeOf(measured);
    const ageSeconds = Math.max(Math.floor((clock.now() - atMs) / 1_000), 0);
    const kept = number > 0 ? { number } : {};
    const document = { ...(parseJson(text) as object), at: isoTime(atMs), ...kept };
    const isGood = allowed(schema, document) !== null;
    if (!isGood || ageSeconds >= expirySeconds) {
      if (!isGood) store.count("dropped");
      store.forgetMeasured(number);
      return;
    }
    this.#flying.add(number);
    void link.deliver("metrics", document, expirySeconds - ageSeconds).then((sent) => {
      try {
        if (sent === "refused") store.count("dropped");
        if (sent !== "lost") store.forgetMeasured(number);
        this.#flying.delete(number);
      } catch (error) {
        // The number stays among those that fly, so that the figures are not sent in each round.
        log.warn({ err: error }, "could not note that figures were sent to the fleet");
      }
    });
  }

  /**
   * Returns when figures were measured by the present clock: if the clock was set since, also while
   * the program was off, the machine's uptime says how long ago that was. Figures that are older
   * than the machine's last boot keep the time that the clock had.
   */
  #timeOf({ atMs, boot, upMs }: Measured): number {
    const { machine, clock } = this.#parts;
    if (boot !== machine.boot) return atMs;
    const byUptimeMs = clock.now() - (machine.upMs() - upMs);
    // A smaller difference comes from rounding.
    return Math.abs(byUptimeMs - atMs) < 1_000 ? atMs : byUptimeMs;
  }
}
