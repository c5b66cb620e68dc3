import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { supervisorAlarms, tpManagerAlarms } from "../../src/shared/catalog/alarms.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import {
  type DocumentOf,
  type FleetName,
  fleetDocuments,
  outcomes,
  type StateNow,
  topicOf,
} from "../../src/supervisor/fleet/documents.ts";
import { runToEnd } from "../support/programs/own-processes.ts";
import { hasTool } from "../support/programs/tools.ts";

const folder = join(projectRoot, "examples/fleet-metrics");
const at = "2026-01-15T12:00:00.000Z";
const id = "0c0ffee0-1111-4222-8333-444455556666";
const rules = readFileSync(join(folder, "alerts.yml"), "utf8");

const head = { version: 1, id, kiosk: "kiosk-7", at } as const;
const now: StateNow = {
  canPay: "unknown",
  obstacles: ["tp-manager-silent"],
  terminal: null,
  dropped: 3,
  payments: { running: 1, inDoubt: 2, notHandedOver: 0 },
  gateway: { pending: 4, parked: 5, oldestAgeSeconds: 700, paused: true, possibleCopies: 6 },
  troubles: ["queue-old"],
  versions: { supervisor: "1.20.300", tpManager: null },
  update: { ready: "1.20.301", held: false, stuck: true, failed: true },
};
const documents: { [N in FleetName]?: DocumentOf<N>[] } = {
  state: [
    {
      ...head,
      connection: "online",
      since: at,
      now: { ...now, obstacles: [...now.obstacles], troubles: [...now.troubles] },
    },
    { ...head, connection: "lost", since: at, now: null },
  ],
  alarm: [
    {
      ...head,
      sequence: 1,
      phase: "raised",
      alarm: "fleet-twin",
      source: "supervisor",
      transactionId: null,
    },
  ],
  reconciliation: [
    {
      ...head,
      sequence: 2,
      kind: "end-of-day",
      result: "differs",
      currency: "EUR",
      transactions: null,
      sumMinor: null,
      differenceMinor: -100,
    },
  ],
  metrics: [
    {
      ...head,
      uptimeSeconds: { supervisor: 9, tpManager: null },
      memoryBytes: 10,
      outbox: { pending: 1, parked: 2, sent: 3 },
      alarmsRaised: 4,
      payments: Object.fromEntries(outcomes.map((name) => [name, 5])) as Record<
        (typeof outcomes)[number],
        number
      >,
      queue: { waiting: 6, dropped: 7 },
    },
  ],
};

interface Ran {
  readonly telegraf: {
    readonly inputs: { readonly mqtt_consumer: readonly { readonly topics: readonly string[] }[] };
  };
  readonly lines: readonly (readonly [string, Record<string, string>, Record<string, number>][])[];
  readonly troubles: readonly string[];
}

/** What fleet.star makes of each document, run by Python. */
async function run(): Promise<Ran> {
  const messages = Object.entries(documents).flatMap(([name, some]) =>
    some.map((one) => {
      expect(fleetDocuments[name as FleetName].schema.safeParse(one).error).toBe(undefined);
      return [topicOf("kiosk-7", name as FleetName), JSON.stringify(one)];
    }),
  );
  messages.push(["connector/1/another/state", messages[0]?.[1] ?? ""]);
  const args = [join(import.meta.dirname, "star.py"), folder, JSON.stringify(messages)];
  return JSON.parse((await runToEnd("python3", args)).stdout) as Ran;
}

/** Prometheus names: the measurement and the field, as Telegraf joins them. */
function names(lines: Ran["lines"]): string[] {
  const made = lines
    .flat()
    .flatMap(([name, , fields]) => Object.keys(fields).map((field) => `${name}_${field}`));
  return [...new Set(made)];
}

test.skipIf(!hasTool("python3"))(
  "topics, members and metrics are those of the schemas",
  async () => {
    const { telegraf, lines, troubles: conditions } = await run();
    const [input] = telegraf.inputs.mqtt_consumer;
    const read = Object.keys(documents).map((name) => topicOf("+", name as FleetName));
    expect([...(input?.topics ?? [])].sort()).toEqual(read.sort());
    const { troubles: schema } = fleetDocuments.state.schema.shape.now.unwrap().shape;
    expect(conditions).toEqual(schema.element.options);

    const [online = [], lost = [], alarm, reconciliation, metrics = [], another] = lines;
    expect(online[0]).toEqual([
      "connector",
      { kiosk: "kiosk-7" },
      expect.objectContaining({
        online: 1,
        lost: 0,
        can_pay: 0,
        payments_in_doubt: 2,
        gateway_parked: 5,
        gateway_oldest_age_seconds: 700,
        gateway_paused: 1,
        update_failed: 1,
        update_held: 0,
        update_ready: 1,
        version_supervisor: 10_020_000_300,
      }),
    ]);
    expect(online[0]?.[2]).not.toHaveProperty("version_tp_manager");
    const present = online.filter(([, , { trouble: condition }]) => condition === 1);
    expect(present.map(([, { trouble: condition }]) => condition)).toEqual(["queue-old"]);
    expect(lost).toEqual([["connector", { kiosk: "kiosk-7" }, { online: 0, lost: 1 }]]);
    const twin = { kiosk: "kiosk-7", alarm: "fleet-twin", phase: "raised" };
    expect(alarm).toEqual([["connector", twin, { alarm_at: 1_700_000_000 }]]);
    const differs = { kiosk: "kiosk-7", kind: "end-of-day", result: "differs" };
    expect(reconciliation).toEqual([["connector", differs, { reconciliation_at: 1_700_000_000 }]]);
    const paid = metrics.filter(([, , fields]) => "payments_total" in fields);
    expect(paid.map(([, { outcome }]) => outcome)).toEqual([...outcomes]);
    expect(another).toEqual([]);

    const named = [...rules.matchAll(/\bconnector_\w+/g)].map(([name]) => name);
    expect(named.length).toBeGreaterThan(8);
    expect(named.filter((name) => !names(lines).includes(name))).toEqual([]);
  },
);

test("labels in the rules have values that documents have", () => {
  const known = {
    trouble: fleetDocuments.state.schema.shape.now.unwrap().shape.troubles.element.options,
    phase: fleetDocuments.alarm.schema.shape.phase.options,
    result: fleetDocuments.reconciliation.schema.shape.result.options,
    alarm: [...tpManagerAlarms, ...supervisorAlarms],
    job: ["fleet", "fleet-broker"],
  } as Readonly<Record<string, readonly string[]>>;
  const labels = [...rules.matchAll(/(\w+)="([^"]+)"/g)];
  expect(labels.length).toBeGreaterThan(5);
  const wrong = labels.filter(([, label = "", value = ""]) => !known[label]?.includes(value));
  expect(wrong.map(([text]) => text)).toEqual([]);
});

const promtool = process.env["PROMTOOL"] ?? "promtool";
const havePromtool = hasTool(promtool);
if (!havePromtool)
  console.warn("no promtool: alert rules are not tried (apt-get install prometheus)");

test.skipIf(!havePromtool)(
  "promtool takes the rules, and they do what their tests say",
  async () => {
    const args = [
      ["check", "rules", "alerts.yml"],
      ["test", "rules", "alerts.test.yml"],
    ];
    for (const one of args) {
      const { stdout } = await runToEnd(promtool, one, { cwd: folder });
      expect(stdout).toContain("SUCCESS");
    }
    const tried = readFileSync(join(folder, "alerts.test.yml"), "utf8");
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);
    expect(alerts.filter((name) => !tried.includes(`alertname: ${name}\n`))).toEqual([]);
  },
);
