import { describe, expect, test } from "vitest";
import { versionNumber } from "../../../src/shared/program/installation.ts";
import { house, pay, request } from "../../support/house/payment-house.ts";
import { declined, report } from "../../support/terminals/reports.ts";
import { disconnected, lost } from "../../support/terminals/scripted-terminal.ts";
import { api, authorization, monitorOf, supervisorStatus } from "./rig.ts";

describe("GET /health", () => {
  test("is ready with a linked terminal, and shows outbox, disk, clock and versions", async () => {
    const { at, call } = await api();
    const { http, one: health } = await call("GET", "/health");
    expect([http, health.status, health.reasons, health.warnings]).toEqual([200, "Ready", [], []]);
    expect(health).toMatchObject({
      terminal: { link: "connected", state: "ready", terminalId: "52500001" },
      running: null,
      payments: { inDoubt: 0, notHandedOver: 0 },
      outbox: { pending: 2, oldestAgeSeconds: 62 },
      versions: { connector: versionNumber, supervisor: "1.0.0", node: process.versions.node },
      dailyChoresAt: "03:30",
      updates: {
        asked: true,
        channel: "beta",
        lastCheckAt: "2026-01-15T02:00:00.000Z",
        lastError: "too slow",
        metadataAt: "2026-01-14T02:00:00.000Z",
        metadataExpireAt: null,
        ready: "0.2.0",
        heldBy: "anna",
        heldSince: "2026-01-14T08:00:00.000Z",
        heldUntil: "2026-01-19T00:00:00.000Z",
      },
    });
    expect(health.disk.freeBytes).toBeGreaterThan(0);
    expect(Date.parse(health.clock.now)).toBe(at.clock.now());
  });

  test("is not ready without a link, and says why and since when", async () => {
    const { at, call } = await api();
    await at.clock.advance(5_000);
    at.terminal.become({ link: "disconnected", linkProblem: "/dev/ttyUSB0 is not there" });
    const { http, one: health } = await call("GET", "/health");
    expect([http, health.status]).toEqual([503, "NotReady"]);
    expect(health.reasons).toEqual(["no link to the terminal: /dev/ttyUSB0 is not there"]);
    expect(Date.parse(health.terminal.since)).toBe(at.clock.now());
  });

  test("answers a page with 200 and the same body, so that a browser logs no error", async () => {
    const { at, call } = await api();
    at.terminal.become({ link: "disconnected", linkProblem: "unplugged" });
    const { http, one: health } = await call("GET", "/health?http=200");
    expect([http, health.status, health.reasons]).toEqual([
      200,
      "NotReady",
      ["no link to the terminal: unplugged"],
    ]);
    // A monitor may send what it likes, as before; only this one form is answered otherwise.
    expect((await call("GET", "/health?t=1")).http).toBe(503);
    expect((await call("GET", "/health?http=503")).http).toBe(400);
  });

  test("shows since when a link is lost, however many tries to connect failed since", async () => {
    const { at, call } = await api();
    const lostAt = at.clock.now();
    at.terminal.become({ link: "disconnected", linkProblem: "unplugged" });
    await at.clock.advance(5_000);
    at.terminal.become({ link: "connecting", linkProblem: null });
    await at.clock.advance(5_000);
    at.terminal.become({ link: "disconnected", linkProblem: "no answer" });
    const { terminal } = (await call("GET", "/health")).one;
    expect([terminal.problem, Date.parse(terminal.since)]).toEqual(["no answer", lostAt]);
    at.terminal.become({ link: "connected", linkProblem: null });
    const { terminal: back } = (await call("GET", "/health")).one;
    expect(Date.parse(back.since)).toBe(at.clock.now());
  });

  test("is not ready when the terminal needs action, and says so", async () => {
    const { at, call } = await api();
    const status = { cr: "2", card: "0", call: "0", periph: "0", detail: "no paper" } as const;
    at.terminal.become({ status });
    expect((await call("GET", "/health")).one.reasons).toEqual([
      "the terminal needs action: no paper",
    ]);
  });

  test("shows until when an approved sale waits for the decision about its goods", async () => {
    const at = house();
    const { call } = await api({}, at);
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      return new Promise(() => {});
    };
    const by = new Date(at.clock.now() + 30_000).toISOString();
    const sale = request("A-1", { delivery: { withinSeconds: 30 } });
    await pay(at, sale);
    const running = { what: "payment", orderId: "A-1", prompt: null, promptTexts: null };
    const waits = { goodsBy: by, endsAt: by, secondsLeft: 30 };
    expect((await call("GET", "/health")).one.running).toEqual({ ...running, ...waits });
    await at.clock.advance(30_000);
    const over = { goodsBy: null, endsAt: null, secondsLeft: null };
    expect((await call("GET", "/health")).one.running).toEqual({ ...running, ...over });
  });

  test("shows no prompt of an earlier attempt of the same order", async () => {
    const at = house();
    const { call } = await api({}, at);
    const decline = Promise.withResolvers<void>();
    at.terminal.script = async (_order, observer) => {
      observer.prompt({ code: "0A", text: "Insert card", language: "en", texts: null });
      await decline.promise;
      observer.report(declined());
      return { end: "completed", ticket: "" };
    };
    const running = async () => (await call("GET", "/health")).one.running;
    const first = at.orders.pay(request("A-1"));
    await expect.poll(running).toMatchObject({ orderId: "A-1", prompt: "Insert card" });
    decline.resolve();
    await first;
    const asked = Promise.withResolvers<void>();
    at.terminal.script = () => {
      asked.resolve();
      return new Promise(() => {});
    };
    void at.orders.pay(request("A-1"));
    await asked.promise;
    expect(await running()).toMatchObject({ orderId: "A-1", prompt: null });
  });

  test("names a running payment and an order in doubt", async () => {
    const at = house();
    const { call } = await api({}, at);
    const blocked = Promise.withResolvers<void>();
    at.terminal.script = async () => {
      await blocked.promise;
      return lost("line broken");
    };
    const answer = at.orders.pay(request("A-1"));
    expect((await call("GET", "/health")).one).toMatchObject({
      status: "Ready",
      running: { what: "payment", orderId: "A-1", prompt: null, promptTexts: null },
    });
    at.terminal.unavailable = disconnected();
    blocked.resolve();
    await expect.poll(() => at.arbiter.inquiries.blockedBy).toBe("A-1");
    const { one: health } = await call("GET", "/health");
    expect(health.reasons).toEqual(["order A-1 is in doubt and asked about"]);
    // It is for the operator, not for the kiosk's program, which the error's `action` is for.
    expect(health.obstacles[0].todo).toMatch(/ wait a few minutes .* docs\/unknown\.md/);
    expect(health.payments).toEqual({ inDoubt: 1, notHandedOver: 0 });
    const stopped = at.arbiter.stop();
    await at.clock.advance(0);
    await Promise.all([stopped, answer]);
  });

  test("shows that the supervisor is silent, the terminal replaced, and a stop begun", async () => {
    const at = house();
    const silent = monitorOf(at, () => Promise.reject(new Error("nobody listens")));
    const { call } = await api({ monitor: silent }, at);
    at.arbiter.identityCheck.accept();
    const accepted = at.terminal.state.identity;
    expect((await call("GET", "/health")).one.replaced).toBeNull();
    const other = { ...at.terminal.state.identity, serialNumber: "SN-2", terminalId: "99999999" };
    at.terminal.become({ identity: other });
    at.arbiter.lease.close();
    const { one: health } = await call("GET", "/health");
    expect(health.replaced).toEqual({ accepted, found: other });
    expect(health.outbox).toBeNull();
    expect(health.warnings[0]).toMatch(/supervisor does not answer/);
    expect(health.reasons).toEqual([
      "the connector is being stopped",
      "another terminal is connected than before",
    ]);
  });

  test("is not ready with an unreadable journal, and answers all the same", async () => {
    const at = house();
    const { call } = await api({}, at);
    at.close();
    const { http, one: health } = await call("GET", "/health");
    expect([http, health.payments, health.replaced]).toEqual([503, null, null]);
    expect(health.reasons).toContain("the journal cannot be read: check the data folder");
  });
});

test("an order in doubt has one alarm until it is settled", async () => {
  const { at, call } = await api();
  at.terminal.last = { kind: "not-told", why: "bare completion" };
  at.terminal.script = () => Promise.resolve(lost("line broken"));
  void pay(at, request("A-1"));
  await at.clock.advance(300_000);
  // Every repetition starts a recovery run, and every run ends without proof.
  for (let n = 0; n < 3; n += 1) {
    void pay(at, request("A-1"));
    await at.clock.advance(300_000);
  }
  const listed = async () =>
    (await call("GET", "/health")).one.alarms.map(({ alarm }: { alarm: string }) => alarm);
  expect(await listed()).toEqual(["payment-unknown"]);
  await at.clock.advance(2 * 24 * 3_600_000);
  expect(await listed()).toEqual(["payment-unknown"]);
  await at.settle({ orderId: "A-1", outcome: "not_charged", note: "seen on the receipt" });
  expect(await listed()).toEqual([]);
});

test("the alarm of a parked transaction is over when it is sent or closed", async () => {
  const at = house();
  const outbox = { ...supervisorStatus.outbox, parked: 1 };
  const monitor = monitorOf(at, () => Promise.resolve({ ...supervisorStatus, outbox }));
  const { call } = await api({ monitor }, at);
  const ids: string[] = [];
  for (const orderId of ["A-1", "A-2", "A-3"]) {
    const { attempt } = await at.orders.pay(request(orderId));
    const { transactionId } = attempt;
    ids.push(transactionId);
    at.journal.handOffs.setDelivery(transactionId, "parked", at.clock.now());
    const alarm = { alarm: "transaction-parked", source: "supervisor", message: "parked" } as const;
    at.journal.events.raise({ ...alarm, orderId, transactionId }, at.clock.now());
  }
  const listed = async () =>
    (await call("GET", "/health")).one.alarms.map(({ orderId }: { orderId: string }) => orderId);
  expect(await listed()).toEqual(["A-3", "A-2", "A-1"]);
  at.journal.handOffs.setDelivery(ids[0] ?? "", "sent", at.clock.now());
  at.journal.handOffs.setDelivery(ids[1] ?? "", "closed", at.clock.now());
  expect(await listed()).toEqual(["A-3"]);
});

describe("GET /metrics", () => {
  test("counts outcomes, times phases and answers, and never names an order", async () => {
    const at = house();
    const monitor = monitorOf(at);
    const { call } = await api({ monitor }, at);
    await call("POST", "/payment", { amount: 9.99, orderId: "ORDER-IN-NO-LABEL" });
    await call("GET", "/payment/ORDER-IN-NO-LABEL");
    at.terminal.become({ link: "disconnected", linkProblem: "unplugged" });
    at.terminal.emit({ type: "protocol", text: "garbage" });
    const { text, headers } = await call("GET", "/metrics");
    expect(headers["content-type"]).toMatch(/^text\/plain/);
    for (const line of [
      'connector_payment_states_total{state="running"} 1',
      'connector_payment_states_total{state="charged"} 1',
      'connector_payment_phase_seconds_count{phase="card"} 1',
      'connector_payment_phase_seconds_count{phase="whole"} 1',
      "connector_hand_off_pending 0",
      "connector_outbox_pending 2",
      "connector_supervisor_up 1",
      `connector_version_info{version="${versionNumber}"} 1`,
      `connector_update_last_check_timestamp_seconds ${Date.UTC(2026, 0, 15, 2) / 1000}`,
      "connector_update_check_failed 1",
      "connector_terminal_links_lost_total 1",
      "connector_terminal_protocol_faults_total 1",
      "connector_terminal_link_up 0",
      'connector_api_answer_seconds_count{method="GET",route="/payment/:orderId",status="200"} 1',
    ]) {
      expect(text.split("\n")).toContain(line);
    }
    expect(text).toMatch(/^connector_update_metadata_age_seconds 12\d{4}(\.\d+)?$/m);
    expect(text).not.toContain("ORDER-IN-NO-LABEL");
    // A fleet gets the same figures.
    const one = { count: 1, sumMs: 0, buckets: { 50: 1, 160000: 1 } };
    expect(await monitor.metrics.figures()).toMatchObject({
      linksLost: 1,
      phases: { card: one, completion: one, whole: one },
    });
  });

  test("has no more series after wrong methods and paths than after one", async () => {
    const { call, app } = await api();
    const seriesOf = async (methods: readonly string[]): Promise<number> => {
      for (const method of methods) {
        for (const url of ["/payment", "/nothing", `/${method}`, "/payment/A-1/B-1"]) {
          const headers = { host: "localhost:8765", authorization };
          await app.inject({ method: method as "PUT", url, headers });
        }
      }
      return (await call("GET", "/metrics")).text.split("\n").length;
    };
    await seriesOf(["PUT"]);
    const before = await seriesOf(["PUT"]);
    expect(await seriesOf(["DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"])).toBe(before);
  });

  test("has its other figures when neither journal nor supervisor answer", async () => {
    const at = house();
    const { call } = await api({ monitor: monitorOf(at, () => Promise.reject(new Error())) }, at);
    at.close();
    const { http, text } = await call("GET", "/metrics");
    expect(http).toBe(200);
    expect(text).toContain("connector_hand_off_pending Nan");
    expect(text).toContain("connector_supervisor_up 0");
  });
});

test("the metrics keep the rules of Prometheus' linter (promtool check metrics)", async () => {
  const at = house();
  const monitor = monitorOf(at);
  monitor.metrics.addProcessFigures();
  const { call } = await api({ monitor }, at);
  const { text } = await call("GET", "/metrics");
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type]) => ({
    name,
    type,
  }));
  expect(types.length).toBeGreaterThan(30);
  const faults = types.flatMap(({ name, type }) => [
    ...((type === "counter") === name.endsWith("_total") ? [] : [`${name}: ${type} and _total`]),
    ...(/_(count|sum|bucket)$/.test(name) ? [`${name}: suffix of a histogram`] : []),
    ...(/_(ms|sec|secs|milliseconds|minutes|hours|kb|mb)(_|$)/.test(name) ? [`${name}: unit`] : []),
    ...(name.includes(String(type)) && name !== type ? [`${name} names its type`] : []),
    ...(/^[a-z][a-z0-9_]*$/.test(name) ? [] : [`${name}: not in snake case`]),
    ...(new RegExp(`^# HELP ${name} \\S`, "m").test(text) ? [] : [`${name}: no help`]),
  ]);
  expect(faults).toEqual([]);
});
