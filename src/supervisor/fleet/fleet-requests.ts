import { parseJson } from "../../shared/json.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import type { Incoming } from "./broker.ts";
import { type ContentOf, type DocumentOf, fleetDocuments } from "./documents.ts";
import type { FleetLink } from "./fleet-link.ts";
import { ended, type FleetStore, held, isHeld, noHold } from "./fleet-store.ts";

/** An interface, because the fleet's code must not know how this kiosk is updated. */
export interface FleetUpdates {
  /** The version that waits to be installed; null: none. */
  readonly offered: string | null;
  checkNow(): "begun" | "busy";
  /**
   * Holds automatic updates until `untilMs`; null ends the fleet's hold. Returns false and changes
   * nothing while an operator on the spot holds updates.
   */
  holdUntil(untilMs: number | null): boolean;
}

export type UploadBundle = (requestId: string) => Promise<"done" | "upload-failed">;

type Request = DocumentOf<"request">;
type End = Pick<ContentOf<"reply">, "outcome" | "because">;

interface RequestParts {
  /** Whether the setup allows requests (FLEET_COMMANDS). */
  readonly commands: boolean;
  readonly link: FleetLink;
  readonly store: FleetStore;
  readonly clock: Clock;
  readonly log: AlarmLog;
  readonly updates?: FleetUpdates | undefined;
  /** Uploads support bundles; missing: FLEET_UPLOAD_URL is not set. */
  readonly upload?: UploadBundle | undefined;
  /** Records an accepted request as an event; if it throws, the request is not carried out. */
  readonly note: (ask: string, id: string) => void;
}

const REQUEST_BYTES_MAX = 4_096;
/** The longest time to a request's expiry: a day, and five minutes by which clocks may differ. */
const EXPIRY_MAX_MS = 86_400_000 + 300_000;
const PER_HOUR_MAX = 30;
const LOGGED_EVERY_MS = 60_000;

const done: End = { outcome: "done", because: null };
const notAvailable: End = { outcome: "not-available", because: null };
const refused = (because: End["because"]): End => ({ outcome: "refused", because });

/**
 * Carries out the requests of the fleet, each once (docs/fleet.md 6.1). A request that is retained,
 * expired or not understood is ignored. No request reaches the terminal.
 */
export class FleetRequests {
  readonly #parts: RequestParts;
  #ignored = 0;
  #loggedMs = Number.NEGATIVE_INFINITY;
  #uploading = false;

  constructor(parts: RequestParts) {
    this.#parts = parts;
  }

  /** Carries out the request in a message and replies to it, if it may. Never rejects. */
  async take(message: Incoming): Promise<void> {
    const { commands, link, log } = this.#parts;
    if (!commands) return;
    try {
      const request = this.#accepted(message);
      if (typeof request === "string") return this.#ignore(request);
      const { ask, id } = request;
      log.info({ request: id, ask }, `the fleet asked for: ${ask}`);
      const end = await this.#endOf(request);
      log.info({ request: id, ask, ...end }, "a request of the fleet ended with this outcome");
      await link.reply({ request: id, ask, ...end });
    } catch (error) {
      log.warn({ err: error }, "a request of the fleet was not accepted or not answered");
    }
  }

  /** Ends each expired hold of updates, with an alarm. */
  endHolds(): void {
    const { store, clock, updates, log } = this.#parts;
    const nowMs = clock.now();
    const over = store.runningHolds.filter((hold) => !isHeld(hold, nowMs));
    if (over.length === 0) return;
    for (const hold of over) store.setHold(hold.version, ended(hold, nowMs));
    const running = store.runningHolds.map(({ untilMs }) => untilMs ?? 0);
    const isOurs = updates?.holdUntil(running.length === 0 ? null : Math.max(...running));
    const then = isOurs === false ? "an operator still holds updates" : "it is installed as usual";
    for (const { version } of over) {
      const says = `the fleet's hold of version ${version} has ended: ${then}`;
      log.error({ alarm: "update-hold-ended", about: version }, says);
    }
  }

  /** Stores the request in a message and returns it, or returns why the request is ignored. */
  #accepted({ payload, retained }: Incoming): Request | string {
    const { store, clock } = this.#parts;
    if (retained) return "it was retained";
    if (payload.length > REQUEST_BYTES_MAX) return "it is too large";
    const parsed = fleetDocuments.request.schema.safeParse(parseJson(payload.toString("utf8")));
    if (!parsed.success) return "it is not understood";
    const { id, expires } = parsed.data;
    const nowMs = clock.now();
    const leftMs = Date.parse(expires) - nowMs;
    if (leftMs <= 0) return "it has expired";
    if (leftMs > EXPIRY_MAX_MS) return "its expiry is too far in the future";
    if (store.requestsSince(nowMs - 3_600_000) >= PER_HOUR_MAX) return "too many came in an hour";
    return store.remember(id, nowMs) ? parsed.data : "it was received before";
  }

  /** Logs ignored requests at most once a minute, because any client of the broker may send one. */
  #ignore(why: string): void {
    const { clock, log } = this.#parts;
    this.#ignored++;
    if (clock.monotonicMs() - this.#loggedMs < LOGGED_EVERY_MS) return;
    this.#loggedMs = clock.monotonicMs();
    log.warn({ ignored: this.#ignored }, `a request of the fleet was ignored, because ${why}`);
  }

  async #endOf(request: Request): Promise<End> {
    try {
      this.#parts.note(request.ask, request.id);
      return await this.#carryOut(request);
    } catch (error) {
      this.#parts.log.warn({ err: error }, "a request of the fleet could not be carried out");
      return { outcome: "failed", because: null };
    }
  }

  async #carryOut(request: Request): Promise<End> {
    const { link, updates } = this.#parts;
    switch (request.ask) {
      case "state":
        link.repeatState();
        return done;
      case "support-bundle":
        return await this.#sendBundle(request.id);
      case "check-update":
        if (!updates) return notAvailable;
        return updates.checkNow() === "begun" ? done : refused("busy");
      case "hold-updates":
        return this.#hold(request.days ?? 1);
    }
  }

  async #sendBundle(id: string): Promise<End> {
    const { upload } = this.#parts;
    if (!upload) return refused("no-upload-address");
    if (this.#uploading) return refused("busy");
    this.#uploading = true;
    try {
      const end = await upload(id);
      return end === "done" ? done : { outcome: "failed", because: end };
    } finally {
      this.#uploading = false;
    }
  }

  #hold(days: number): End {
    const { store, clock, updates } = this.#parts;
    if (!updates) return notAvailable;
    const { offered } = updates;
    if (offered === null) return refused("nothing-offered");
    const before = store.holdOf(offered) ?? noHold;
    const nowMs = clock.now();
    const hold = days === 0 ? ended(before, nowMs) : held(before, days, nowMs);
    if (!hold) return refused("hold-used-up");
    const isOurs = updates.holdUntil(hold.untilMs);
    if (!isOurs && days > 0) return refused("held-on-the-spot");
    // The fleet's hold ends even if an operator holds updates, so that it raises no alarm later.
    store.together(() => {
      // Holds of other versions end, because only the version that is offered now may be held.
      for (const other of store.runningHolds) {
        if (other.version !== offered) store.setHold(other.version, ended(other, nowMs));
      }
      store.setHold(offered, hold);
    });
    return isOurs ? done : refused("held-on-the-spot");
  }
}
