import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { until } from "../support/child-program.ts";
import { timersUpTo } from "../support/held-timers.ts";
import { TestInstallation } from "../support/installation.ts";

/** docs/design.md 1.3: what is written with the next commit is on disk so much later at most. */
const LATER_MS = 1_000;

/** An installation whose tp-manager has no timer that is longer than `timersMs`. */
async function installation(timersMs: number): Promise<TestInstallation> {
  const at = new TestInstallation({
    terminalSwitches: ["--instant"],
    nodeSwitches: timersUpTo(timersMs),
    config: { GATEWAY_WAIT: 20_000 },
  });
  onTestFinished(() => at.stop());
  await at.start();
  await at.connected();
  return at;
}

/** Rows of the journal as another process finds them on disk. */
function onDisk(at: TestInstallation, sql: string): unknown[] {
  const journal = new DatabaseSync(join(at.data, "journal.db"), { readOnly: true });
  try {
    return journal
      .prepare(sql)
      .all()
      .map((row) => Object.values(row).join(" "));
  } finally {
    journal.close();
  }
}

const handOffs = (at: TestInstallation): unknown[] =>
  onDisk(at, "SELECT acknowledged, delivery FROM hand_off");
const deliveries = (at: TestInstallation): unknown[] =>
  onDisk(at, "SELECT data ->> 'delivery' FROM event WHERE name = 'delivery'");
const heard = (at: TestInstallation): unknown[] =>
  onDisk(at, "SELECT kind FROM attempt_event WHERE kind = 'acknowledged'");

/** A payment that the terminal does not end until it is released: its receipt is printed. */
async function printed(at: TestInstallation) {
  await at.arm("hold:at=printed");
  const answer = at.pay(1, "A-1");
  await until(
    "the report is on disk",
    () => onDisk(at, "SELECT kind FROM attempt_event").includes("report") || undefined,
  );
  return { answer, release: () => at.disarm() };
}

describe("what the supervisor has of a transaction", () => {
  test("is on disk when tp-manager has stopped right after its answer", async () => {
    const at = await installation(LATER_MS - 1);
    expect((await at.pay(1, "A-1")).one.notificationGatewaySent).toBe(true);
    expect([handOffs(at), deliveries(at)]).toEqual([["0 pending"], []]);
    expect(await at.tpManager?.end("SIGTERM")).toBe(0);
    expect([handOffs(at), deliveries(at)]).toEqual([["1 sent"], ["sent"]]);
  });

  test("is on disk when tp-manager was asked to stop before it knew of the answer", async () => {
    const at = await installation(LATER_MS - 1);
    const { answer, release } = await printed(at);
    at.tpManager?.signal("SIGTERM");
    await release();
    expect((await answer).one.notificationGatewaySent).toBe(true);
    expect(await at.tpManager?.exited).toBe(0);
    expect([handOffs(at), deliveries(at)]).toEqual([["1 sent"], ["sent"]]);
  });

  test("is on disk a second later when nothing else happens", async () => {
    const at = await installation(LATER_MS);
    expect((await at.pay(1, "A-1")).one.notificationGatewaySent).toBe(true);
    await until("it is on disk", () => handOffs(at)[0] === "1 sent" || undefined);
    expect(deliveries(at)).toEqual(["sent"]);
  });
});

describe("that our acknowledgement of a report has arrived", () => {
  test("is on disk a second later while the terminal goes on", async () => {
    const at = await installation(LATER_MS);
    const { answer, release } = await printed(at);
    await until("it is on disk", () => heard(at).length > 0 || undefined);
    await release();
    expect((await answer).one.status).toBe("Success");
  });

  test("is on disk when tp-manager has stopped before the second was over", async () => {
    const at = await installation(LATER_MS - 1);
    const { answer, release } = await printed(at);
    at.tpManager?.signal("SIGTERM");
    await release();
    expect((await answer).one.status).toBe("Success");
    expect(await at.tpManager?.exited).toBe(0);
    expect(heard(at)).toEqual(["acknowledged"]);
  });
});
