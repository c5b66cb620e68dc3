import { expect, test } from "vitest";
import { FleetSeries } from "../../scripts/fleet-pack/fleet-series.ts";
import type { Sample } from "../../scripts/fleet-pack/remote-write.ts";

const at = "2026-01-15T12:00:00.000Z";
const head = { version: 1, kiosk: "kiosk-7", at } as const;
const payments = { running: 1, inDoubt: 2, notHandedOver: 0 };
const now = { canPay: "unknown", obstacles: [], terminal: null, payments, troubles: ["queue-old"] };
const MINUTE_MS = 60_000;
/** A member that throws when it is read as a text or number. */
const FOREIGN = '{"toString":0,"valueOf":0}';
const labels = Array.from({ length: 20 }, (_, index) => [`l${index}`, "x"]);

/** The series of a bridge, with a clock that stands. */
function bridge() {
  const [refused, nowMs]: [string[], number] = [[], Date.parse(at) + 1_000];
  const fleet = new FleetSeries(
    () => nowMs,
    (text) => refused.push(text),
  );
  const take = (name: string, document: unknown): readonly Sample[] =>
    fleet.take(`connector/1/kiosk-7/${name}`, JSON.stringify(document));
  return { fleet, refused, take };
}

test("no document ends the bridge: what cannot be read is counted, the rest is taken", () => {
  const { fleet, refused, take } = bridge();
  const foreign = JSON.parse(FOREIGN);
  expect(take("metrics", { ...head, at: foreign })).toEqual([]);
  expect([fleet.counts, refused]).toEqual([
    { documents: 0, refused: 1, ahead: 0 },
    [expect.stringMatching(/^refused .*kiosk-7/)],
  ]);
  const card = { count: foreign, sumMs: [], buckets: { 50: foreign, 100: 1 } };
  const taken = take("metrics", { ...head, memoryBytes: 7, phases: { card, whole: foreign } });
  const names = taken.map(({ name }) => name.replace(/^connector_/, ""));
  const times = ["metrics_at", "metrics_arrived_at"];
  expect(names).toEqual(["memory_bytes", "payment_phase_seconds_bucket", ...times]);
  const deep = `${'{"a":'.repeat(9_000)}1${"}".repeat(9_000)}`;
  const text = JSON.stringify(head).replace("{", `{"deep":${deep},"near":{"a":1},`);
  expect(fleet.take("connector/1/kiosk-7/metrics", text).map(({ name }) => name)).toEqual([
    "connector_near_a",
    ...times.map((one) => `connector_${one}`),
  ]);
  // Each document has other series: one kiosk cannot fill Prometheus.
  const made = Array.from({ length: 9 }, (_, round) => {
    const many = Array.from({ length: 400 }, (_, index) => [`n${round}x${index}`, 1]);
    return take("metrics", { ...head, ...Object.fromEntries(many) }).length;
  });
  expect(made.reduce((sum, some) => sum + some)).toBeLessThan(520);
  expect(fleet.counts.refused).toBeGreaterThan(1);
  const system = Object.fromEntries(labels);
  const lost = take("state", { ...head, connection: "lost", now: { system } });
  expect(lost.slice(0, 2).map(({ value }) => value)).toEqual([0, 1]);
  expect(lost.filter(({ name }) => name === "connector_system")).toEqual([]);
});

test("what waits for a person stays known when the broker was lost, and is not guessed", () => {
  const { fleet, take } = bridge();
  const stopped = { ...head, connection: "stopped", since: at, now: null };
  const valuesOf = (samples: readonly Sample[], name: string) =>
    samples.filter((one) => one.name === `connector_${name}`).map(({ value }) => value);
  take("state", { ...head, connection: "online", now });
  take("state", stopped);
  expect(valuesOf(fleet.present().flat(), "payments_in_doubt")).toEqual([2]);
  for (let times = 0; times < 2; times++) {
    expect(valuesOf(fleet.lose().flat(), "payments_in_doubt")).toEqual(times === 0 ? [null] : []);
    // Nobody knows yet how the kiosk is.
    expect(fleet.present().flat()).toEqual([]);
  }
  expect(valuesOf(take("state", stopped), "payments_in_doubt")).toEqual([2]);
  expect(valuesOf(fleet.present().flat(), "trouble")).toContain(1);
  expect(valuesOf(fleet.present().flat(), "can_pay")).toEqual([]);
  fleet.lose();
  const settled = { ...now, payments: { running: 0, inDoubt: 0, notHandedOver: 0 } };
  take("state", { ...head, connection: "online", now: settled });
  expect(valuesOf(take("state", stopped), "payments_in_doubt")).toEqual([0]);
  // The retained state was deleted: the series ends after a 0, and is not written again.
  const ends = fleet.take("connector/1/kiosk-7/state", "");
  expect(valuesOf(ends, "payments_in_doubt")).toEqual([0, null]);
  const times = ends.filter(({ name }) => name === "connector_lost").map(({ atMs }) => atMs);
  expect(times[1]).toBeGreaterThan(times[0] ?? 0);
  expect(valuesOf(ends, "forgotten")).toEqual([1]);
  expect(fleet.present().flat()).toEqual([]);
});

test("the first error of a code comes after a 0, also in figures that come late or again", () => {
  const { take } = bridge();
  const startMs = Date.parse(at) - 9 * MINUTE_MS;
  const measured = (minute: number, errors: object) => {
    const document = { ...head, at: new Date(startMs + minute * MINUTE_MS).toISOString(), errors };
    return take("metrics", document)
      .filter(({ name }) => name === "connector_payment_errors_total")
      .map(({ labels, value, atMs }) => [labels["code"], value, (atMs - startMs) / MINUTE_MS]);
  };
  // What a kiosk counted before the bridge knew it is no increase.
  expect(measured(0, { OLD: 9 })).toEqual([["OLD", 9, 0]]);
  // The kiosk was away, and sends its present figures before those that are late.
  for (let times = 0; times < 2; times++) {
    expect(measured(4, { OLD: 9, NEW: 2 })).toEqual([
      ["OLD", 9, 4],
      ["NEW", 2, 4],
      ["NEW", 0, 0],
    ]);
  }
  expect(measured(1, { OLD: 9 })).toEqual([
    ["OLD", 9, 1],
    ["NEW", 0, 1],
  ]);
  expect(measured(2, { OLD: 9, NEW: 1 })).toEqual([
    ["OLD", 9, 2],
    ["NEW", 1, 2],
  ]);
  // After a new data/fleet.db the counters begin anew.
  expect(measured(6, {})).toEqual([
    ["OLD", 0, 6],
    ["NEW", 0, 6],
  ]);
  const codes = (minute: number) =>
    Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`C${minute}X${index}`, 1]));
  for (let minute = 7; minute < 10; minute++) measured(minute, codes(minute));
  expect(measured(9, {}).length).toBe(100);
});
