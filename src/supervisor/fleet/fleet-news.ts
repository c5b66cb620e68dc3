import { createHash } from "node:crypto";
import type { z } from "zod";
import { type Condition, conditionOfAlarm, formerAlarms } from "../../shared/catalog/conditions.ts";
import type { FleetNewsAnswer } from "../../shared/ipc/fleet-messages.ts";
import { maskPansInText } from "../../shared/masking/mask.ts";
import { isoTime } from "../../shared/time.ts";
import { allowed, type DocumentOf, FLEET_VERSION, fleetDocuments } from "./documents.ts";
import type { FleetStore } from "./fleet-store.ts";

type Event = FleetNewsAnswer["events"][number];
type Alarm = DocumentOf<"alarm">;

type Queued = "payment" | "alarm" | "reconciliation";

/** The alarm about a payment in doubt; the alarm ends when the payment's outcome is known. */
const PAYMENT_UNKNOWN = "payment-unknown";

/** Turns each event of tp-manager into a document for the fleet (docs/fleet.md 4.1). */
export class FleetNews {
  readonly #store: FleetStore;
  readonly #kiosk: string;
  readonly #payments: boolean;

  /** `kiosk`: the id of this kiosk (FLEET_ID); `payments`: whether payments are reported. */
  constructor(store: FleetStore, kiosk: string, payments: boolean) {
    this.#store = store;
    this.#kiosk = kiosk;
    this.#payments = payments;
  }

  /** The id of the last event that was read; null: no event was read yet. */
  get after(): number | null {
    return this.#store.figure("event") ?? null;
  }

  /** Queues tp-manager's events; with a new journal or fleet.db, only the events from now on. */
  take({ events, lastId }: FleetNewsAnswer): void {
    const { after } = this;
    if (after === null || lastId < after) {
      this.#store.setFigure("event", lastId);
      return;
    }
    const last = events.at(-1);
    if (!last) return;
    this.#store.together(() => {
      for (const event of events) this.#takeEvent(event);
      this.#store.setFigure("event", last.id);
    });
  }

  /** Queues the alarms of conditions that have begun or ended. */
  takeConditions(conditions: readonly Condition[], nowMs: number): void {
    const raised = this.#store.raisedAlarms;
    // An alarm that an older version began under the alarm's former name also ends under that name.
    const namesOf = ({ row: { alarm, formerly = alarm } }: Condition) => [alarm, formerly];
    const present = new Set(conditions.flatMap(namesOf));
    const over = raised.filter((alarm) => !present.has(alarm));
    const begun = conditions.filter((one) => !namesOf(one).some((name) => raised.includes(name)));
    if (over.length + begun.length === 0) return;
    this.#store.together(() => {
      for (const { row } of begun) {
        if (this.#store.raise(row.alarm, "")) this.#alarm(row.alarm, nowMs, { source: row.by });
      }
      for (const alarm of over) {
        this.#store.end(alarm, "");
        this.#alarm(alarm, nowMs, {});
      }
    });
  }

  #takeEvent(event: Event): void {
    if (event.name === "payment") this.#payment(event);
    if (event.name === "alarm") this.#raised(event);
    if (event.name === "end-of-day") this.#closing(event);
    if (event.name === "reconciliation") this.#comparison(event);
  }

  #payment(event: Event): void {
    const { data, atMs } = event;
    const { shape } = fleetDocuments.payment.schema;
    const transactionId = allowed(shape.transactionId, data["transactionId"]);
    if (transactionId === null) return;
    if (data["state"] === "running") this.#store.begin(transactionId, atMs);
    const outcome = allowed(shape.outcome, data["state"]);
    if (outcome === null) return;
    if (data["charged"] !== "unknown" && this.#store.end(PAYMENT_UNKNOWN, transactionId)) {
      this.#alarm(PAYMENT_UNKNOWN, atMs, { transactionId });
    }
    this.#store.count(`payments ${outcome}`);
    const error = allowed(shape.error, data["error"]);
    if (error !== null) this.#store.count(`errors ${error}`);
    const begunMs = this.#store.takeBegin(transactionId);
    if (!this.#payments) return;
    this.#queueEvent("payment", event, {
      transactionId,
      attempt: data["attempt"],
      outcome,
      charged: data["charged"],
      error,
      amountMinor: data["amountMinor"],
      chargedAmountMinor: data["chargedAmountMinor"] ?? null,
      currency: data["currency"],
      durationMs: begunMs === undefined ? null : Math.max(atMs - begunMs, 0),
    });
  }

  #raised(event: Event): void {
    const { data } = event;
    const { shape } = fleetDocuments.alarm.schema;
    const alarm = allowed(shape.alarm, data["alarm"]);
    if (alarm === null) return;
    this.#store.count("alarms");
    const transactionId = allowed(shape.transactionId, data["transactionId"]);
    // The alarm of a lasting condition is queued by takeConditions and not with its event.
    const lasts = conditionOfAlarm(alarm, data["finding"]) !== undefined;
    if (lasts && data["orderId"] === null && transactionId === null) return;
    if (alarm === PAYMENT_UNKNOWN && transactionId !== null) {
      this.#store.raise(alarm, transactionId);
    }
    this.#queueEvent("alarm", event, {
      phase: "raised",
      alarm,
      source: allowed(shape.source, data["source"]),
      transactionId,
      formerly: allowed(shape.formerly, data["formerly"]) ?? undefined,
      finding: allowed(shape.finding, data["finding"]) ?? undefined,
    });
  }

  /** Queues the end of an alarm or, with `source`, the begin of a condition's alarm. */
  #alarm(alarm: string, atMs: number, given: Partial<Pick<Alarm, "source" | "transactionId">>) {
    const { source = null, transactionId = null } = given;
    const phase = source === null ? "ended" : "raised";
    const formerly = formerAlarms.get(alarm);
    const content = { phase, alarm, source, transactionId, ...(formerly ? { formerly } : {}) };
    this.#queue("alarm", content, atMs, `${phase} ${alarm} ${transactionId} ${atMs}`);
  }

  #closing(event: Event): void {
    const { data } = event;
    const { shape } = fleetDocuments.reconciliation.schema;
    const result = allowed(shape.result, data["end"]);
    if (result === null) return;
    const parts = (data["applications"] ?? []) as { count: number; sumMinor: number }[];
    const sum = (of: (part: (typeof parts)[number]) => number): number | null =>
      parts.length === 0 ? null : parts.reduce((all, part) => all + of(part), 0);
    this.#queueEvent("reconciliation", event, {
      kind: "closing",
      result,
      differenceMinor: null,
      currency: null,
      transactions: sum(({ count }) => count),
      sumMinor: sum(({ sumMinor }) => sumMinor),
    });
  }

  #comparison(event: Event): void {
    const { data } = event;
    const { shape } = fleetDocuments.reconciliation.schema;
    this.#queueEvent("reconciliation", event, {
      kind: data["kind"],
      result: data["result"],
      transactions: null,
      sumMinor: null,
      differenceMinor: data["differenceMinor"] ?? null,
      currency: allowed(shape.currency, data["currency"]),
    });
  }

  #queueEvent(name: Queued, { id, atMs }: Event, content: object): void {
    this.#queue(name, content, atMs, `event ${id} ${atMs}`);
  }

  /** Queues a document; drops one that its schema refuses, because it may hold a person's text. */
  #queue(name: Queued, content: object, atMs: number, about: string): void {
    const id = idOf(`${this.#kiosk} ${about}`);
    const head = { version: FLEET_VERSION, id, kiosk: this.#kiosk, at: isoTime(atMs) };
    const document = { ...head, ...content };
    if (allowed<z.ZodType>(fleetDocuments[name].schema, { ...document, sequence: 0 }) === null) {
      this.#store.count("dropped");
      return;
    }
    this.#store.add(name, atMs, document);
  }
}

/** Returns a document's id, made from its event: the same id if the event is read again. */
function idOf(about: string): string {
  const hex = createHash("sha256").update(about).digest("hex").slice(0, 32);
  const id = hex.replace(/^(.{8})(.{4}).(...).(...)(.{12})$/, "$1-$2-8$3-a$4-$5");
  // An id whose digits look like a card number is replaced (docs/design.md 6.2).
  return maskPansInText(id) === id ? id : idOf(`${about} again`);
}
