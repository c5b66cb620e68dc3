import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FleetSeries } from "../../scripts/fleet-pack/fleet-series.ts";
import { writeRequest } from "../../scripts/fleet-pack/remote-write.ts";
import {
  documentOf,
  figuresOf,
  type KioskDocument,
  labelsOf,
} from "../../scripts/fleet-pack/series.ts";
import { packFiles } from "../../scripts/fleet-pack.ts";
import { supervisorAlarms, tpManagerAlarms } from "../../src/shared/catalog/alarms.ts";
import { conditionTable } from "../../src/shared/catalog/conditions.ts";
import { errorTable } from "../../src/shared/catalog/errors.ts";
import { PHASE_SECONDS } from "../../src/shared/ipc/fleet-messages.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import {
  type DocumentOf,
  type FleetName,
  fleetDocuments,
  outcomes,
  type StateNow,
  topicOf,
} from "../../src/supervisor/fleet/documents.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { runToEnd } from "../support/programs/own-processes.ts";
import { hasTool } from "../support/programs/tools.ts";

const folder = join(projectRoot, "examples/fleet-pack");
const at = "2026-01-15T12:00:00.000Z";
const id = "0c0ffee0-1111-4222-8333-444455556666";
const read = (name: string): string => readFileSync(join(folder, name), "utf8");
const rules = read("alerts.yml") + read("conditions.yml") + read("alarms.yml");

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
const figures: DocumentOf<"metrics"> = {
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
};
const buckets = Object.fromEntries(PHASE_SECONDS.map((seconds) => [seconds * 1_000, 3]));
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
    figures,
    {
      ...figures,
      labels: { "the-site": "bern" },
      number: 8,
      errors: { PAYMENT_DECLINED: 2 },
      linksLost: { terminal: 1, broker: 0 },
      phases: { card: { count: 3, sumMs: 9, buckets } },
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

test.skipIf(!hasTool("python3"))(
  "topics, members and metrics are those of the schemas",
  async () => {
    const { telegraf, lines, troubles: conditions } = await run();
    const [input] = telegraf.inputs.mqtt_consumer;
    const topics = Object.keys(documents).map((name) => topicOf("+", name as FleetName));
    expect([...(input?.topics ?? [])].sort()).toEqual(topics.sort());
    const { troubles: schema } = fleetDocuments.state.schema.shape.now.unwrap().shape;
    expect(conditions).toEqual(schema.element.options);

    const [online = [], lost = [], alarm, reconciliation, metrics = [], later = [], another] =
      lines;
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
        update_stuck: 1,
        dropped: 3,
      }),
    ]);
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
    // A member that older kiosks do not report adds its own series, and no others.
    const namesOf = (some: typeof metrics) => some.flatMap(([, , fields]) => Object.keys(fields));
    const added = ["links_lost_terminal", "links_lost_broker", "payment_errors_total"];
    expect(namesOf(later).sort()).toEqual([...namesOf(metrics), ...added].sort());
    expect(later.every(([, tags]) => tags["label_the_site"] === "bern")).toBe(true);

    // The bridge gives the same names and values, and some series more.
    const bridged = new Set(bridgeSeries().map((one) => JSON.stringify(one)));
    const ofStar = lines
      .flat()
      .flatMap(([name, { kiosk: _, ...labels }, fields]) =>
        Object.entries(fields).map(([field, value]) => [`${name}_${field}`, labels, value]),
      );
    const isTime = ([name]: unknown[]) => String(name).endsWith("_at");
    const lacking = ofStar.filter((one) => !isTime(one) && !bridged.has(JSON.stringify(one)));
    expect([lacking, ofStar.length > 60]).toEqual([[], true]);
  },
);

function bridgeSeries() {
  return Object.entries(documents).flatMap(([name, some]) =>
    some.flatMap((one) =>
      figuresOf(name, one as unknown as KioskDocument).map((each) => [
        each.name,
        { ...labelsOf(one as unknown as KioskDocument), ...each.labels },
        each.value,
      ]),
    ),
  );
}

test("what the rules read is what the bridge writes", () => {
  const fleet = new FleetSeries(Date.now, () => {});
  const own = fleet.own(1_800_000_000).map(({ name }) => name);
  const taken = [JSON.stringify(figures), ""].flatMap((text) =>
    fleet.take(`connector/1/kiosk-7/${text === "" ? "state" : "metrics"}`, text),
  );
  const made = taken.map(({ name }) => name);
  const written = [...bridgeSeries().map(([name]) => name), ...own, ...made];
  const named = [...rules.matchAll(/(?<=expr: .*)\bconnector_\w+/g)].map(([name]) => name);
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((name) => !written.includes(name))).toEqual([]);
});

test("rules of the conditions and dashboards are as the code makes them", () => {
  for (const [path, text] of Object.entries(packFiles())) {
    expect([path, readFileSync(join(projectRoot, path), "utf8")]).toEqual([path, text]);
  }
  const { todo } = conditionTable["terminal-disconnected"];
  expect(read("conditions.yml")).toContain(JSON.stringify(todo));
  // Each alarm has a rule: its own, that of its condition, or that of payments in doubt.
  const ofRules = [...read("alarms.yml").matchAll(/\balarm="([^"]+)"/g)].map(([, name]) => name);
  const called = new Set([...Object.values(conditionTable).map(({ alarm }) => alarm), ...ofRules]);
  const silent = [...tpManagerAlarms, ...supervisorAlarms].filter((name) => !called.has(name));
  expect(silent).toEqual(["payment-unknown"]);
  const { meaning, operator } = errorTable.TERMINAL_IN_DOUBT;
  expect(read("consoles/reasons.lib")).toContain(`${meaning} ${operator}`);
});

test("a remote-write request is a WriteRequest in a snappy block", () => {
  const at = {
    name: "connector_online",
    labels: { kiosk: "k" },
    value: 1,
    atMs: 1_700_000_000_123,
  };
  const body = writeRequest([at, { ...at, value: null }]);
  const [length = 0, tag = 0, low = 0, high = 0, ...bytes] = body;
  expect([length, tag >> 2, low + high * 256 + 1]).toEqual([bytes.length, 61, bytes.length]);
  const label = (name: string, value: string) => {
    const texts = [name, value].flatMap((text, i) => [
      i * 8 + 10,
      text.length,
      ...Buffer.from(text),
    ]);
    return [0x0a, texts.length, ...texts];
  };
  const labels = [...label("__name__", "connector_online"), ...label("kiosk", "k")];
  const series = (value: string) => {
    const sample = [0x09, ...Buffer.from(value, "hex"), 0x10, 0xfb, 0xd0, 0x95, 0xff, 0xbc, 0x31];
    const message = [...labels, 0x12, sample.length, ...sample];
    return [0x0a, message.length, ...message];
  };
  // The second value is the NaN that ends a series.
  expect(bytes).toEqual([...series("000000000000f03f"), ...series("020000000000f07f")]);
});

/** A member that throws when it is read as a text or number. */
const FOREIGN = '{"toString":0,"valueOf":0}';
const labels = Array.from({ length: 20 }, (_, index) => [`l${index}`, "x"]);

test("the bridge takes nothing that is not a kiosk's own document", () => {
  const [state] = documents.state ?? [];
  const good = JSON.stringify(state);
  expect(documentOf("connector/1/kiosk-7/state", good)?.[0]).toBe("state");
  for (const [topic, text] of [
    ["connector/1/kiosk-8/state", good],
    ["connector/2/kiosk-7/state", good],
    ["connector/1/kiosk-7/state/x", good],
    ["connector/1/kiosk-7/state", "{"],
    ["connector/1/kiosk-7/state", "null"],
    ["connector/1/kiosk-7/state", good.replace(at, "soon")],
    ["connector/1/kiosk-7/state", good.replaceAll(at, "1969-12-31T00:00:00.000Z")],
    ["connector/1/kiosk-7/state", good.replaceAll(`"${at}"`, FOREIGN)],
  ] as const) {
    expect([topic, documentOf(topic, text)]).toEqual([topic, undefined]);
  }
  const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`n${i}`, 1]));
  const text = "x".repeat(65);
  const hostile = { ...head, ...many, "a b": 1, [text.repeat(2)]: 1, labels: { a: text, site: 7 } };
  expect(figuresOf("metrics", hostile).length).toBe(500);
  expect(figuresOf("state", { ...head, now: { troubles: [text], obstacles: [text] } })).toEqual(
    expect.not.arrayContaining([expect.objectContaining({ labels: { trouble: text } })]),
  );
  const ends = { setting: "FLEET_CA_FILE", ends: "2026-02-01T00:00:00Z" };
  const now = {
    certificates: [ends, { ends: "soon" }, { ends: JSON.parse(FOREIGN) }],
    supportEnds: null,
    system: { os: "linux" },
  };
  expect(
    figuresOf("state", { ...head, now }).filter(({ name }) => /_ends|system/.test(name)),
  ).toEqual([
    { name: "connector_system", labels: { os: "linux" }, value: 1 },
    {
      name: "connector_certificate_ends_timestamp_seconds",
      labels: { setting: "FLEET_CA_FILE" },
      value: 1_769_904_000,
    },
  ]);
  const long = { "the-site": "basel", floor: 2, é: "x", a: "é", b: "y".repeat(33) };
  expect(labelsOf({ ...head, labels: long })).toEqual({ label_the_site: "basel" });
  expect(Object.keys(labelsOf({ ...head, labels: Object.fromEntries(labels) }))).toHaveLength(8);
});

test("error codes and the histograms of phases have the names that /metrics gives them", () => {
  const card = { count: 3, sumMs: 1_500, buckets: { 50: 1, 2500: 3 } };
  const figures = { ...head, number: 7, errors: { CUSTOMER_TIMEOUT: 2 }, phases: { card } };
  const phase = "connector_payment_phase_seconds";
  const rows = figuresOf("metrics", figures).map(({ name, labels, value }) => [
    name,
    Object.values(labels).join(),
    value,
  ]);
  expect(rows).toEqual([
    ["connector_payment_errors_total", "CUSTOMER_TIMEOUT", 2],
    [`${phase}_bucket`, "card,0.05", 1],
    [`${phase}_bucket`, "card,2.5", 3],
    [`${phase}_bucket`, "card,+Inf", 3],
    [`${phase}_count`, "card", 3],
    [`${phase}_sum`, "card", 1.5],
    ["connector_metrics_at", "", Date.parse(at) / 1_000],
  ]);
});

test("labels in the rules have values that documents have", () => {
  const known = {
    trouble: fleetDocuments.state.schema.shape.now.unwrap().shape.troubles.element.options,
    phase: fleetDocuments.alarm.schema.shape.phase.options,
    result: fleetDocuments.reconciliation.schema.shape.result.options,
    alarm: [...tpManagerAlarms, ...supervisorAlarms],
    job: ["fleet"],
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
      ["check", "rules", "alerts.yml", "conditions.yml", "alarms.yml", "agent-alerts.yml"],
      ["test", "rules", "alerts.test.yml", "days.test.yml"],
    ];
    for (const one of args) {
      const { stdout } = await runToEnd(promtool, one, { cwd: folder });
      expect(stdout).toContain("SUCCESS");
    }
    const tried = read("alerts.test.yml") + read("days.test.yml");
    const alerts = [...read("alerts.yml").matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);
    expect(alerts.filter((name) => !tried.includes(`alertname: ${name}\n`))).toEqual([]);
  },
);

test("the bridge says in one line what is wrong with its files", async () => {
  const folder = temporaryFolder();
  const program = join(projectRoot, "scripts/fleet-pack/bridge.ts");
  const good = { access: "a", figures: "a", write: "http://127.0.0.1:9/write" };
  const { figures: _, ...older } = good;
  const files = [JSON.stringify(good), JSON.stringify({ ...older, acces: "b" })];
  const ends = files.map(async (text, i) => {
    const file = join(folder, `${i}.json`);
    writeFileSync(file, text);
    const ran = await runToEnd(process.execPath, [program, file]).catch((error) => error);
    return [ran.code, ran.stderr.replaceAll(folder, "")];
  });
  expect(await Promise.all(ends)).toEqual([
    [78, expect.stringMatching(/^the access .a cannot be used: .*fleet enrol makes .*\n$/)],
    [78, expect.stringMatching(/^.1.json is not .*figures: Invalid.*"acces"\n$/)],
  ]);
});

test("systemd takes the unit of the bridge", ({ skip }) => {
  const file = join(temporaryFolder(), "fleet-bridge.service");
  writeFileSync(file, read("fleet-bridge.service").replace("/etc/fleet/node", process.execPath));
  const checked = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
  if (checked.error) skip("systemd-analyze is not installed");
  expect([checked.status, checked.stderr]).toEqual([0, ""]);
});
