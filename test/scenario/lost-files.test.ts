import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { restore } from "../../src/launcher/commands/restore.ts";
import type { Output } from "../../src/launcher/output.ts";
import { installationAt } from "../../src/shared/program/installation.ts";
import { systemClock } from "../../src/shared/time.ts";
import { removeStore } from "../support/house/two-stores.ts";
import { until } from "../support/programs/child-program.ts";
import { TestInstallation } from "../support/programs/installation.ts";

const silent = () => {};
const output: Output = {
  row: silent,
  finding: silent,
  text: silent,
  note: silent,
  fault: silent,
  heading: silent,
};

/** A cleaning script, and a restore by hand, while the programs run. */
const ways: Record<string, (data: string) => void> = {
  deleted: (data) => removeStore(data, "journal"),
  "replaced by an older copy": (data) => {
    renameSync(join(data, "older.db"), join(data, "journal.db"));
  },
};

const store = "journal" as const;

test.each(Object.entries(ways))(
  "a journal that was %s while it is in use charges nobody twice and loses nothing",
  async (_way, happen) => {
    const at = new TestInstallation();
    onTestFinished(() => at.stop());
    await at.start();
    await at.connected();
    await at.firstPaid("first");
    copyFileSync(join(at.data, "journal.db"), join(at.data, "older.db"));
    expect((await at.pay(9, "A")).one).toMatchObject({ status: "Success" });
    // What is paid from here on is nowhere but in the journal.
    await at.supervisor?.end("SIGKILL");
    expect((await at.pay(9, "B")).one).toMatchObject({ status: "Success" });
    const { charged } = await at.ledger();
    happen(at.data);
    const { one: health } = (await at.call("GET", "/health")) as unknown as { one: Health };
    expect(health.obstacles).toMatchObject([{ code: "STORAGE_FAILED" }]);
    expect(health.reasons[0]).toMatch(/while it is in use; what it holds is saved as/);
    for (const [amount, orderId] of [
      [9, "C"],
      [5, "D"],
    ] as const) {
      const { http, one } = await at.pay(amount, orderId);
      expect([http, one.error]).toMatchObject([503, { code: "STORAGE_FAILED", charged: "no" }]);
    }
    expect((await at.pay(9, "B")).one).toMatchObject({ status: "Success", replayed: true });
    expect((await at.ledger()).charged).toBe(charged);

    await at.tpManager?.end("SIGTERM");
    const site = { ...installationAt(at.data), clock: systemClock, output };
    expect(await restore(site, { subject: store, from: undefined })).toBe(0);
    await Promise.all([at.startSupervisor(), at.startTpManager()]);
    await at.connected();
    for (const orderId of ["A", "B"]) {
      expect((await at.pay(9, orderId)).one).toMatchObject({ status: "Success", replayed: true });
    }
    await until(
      "the sale that nobody else knew is handed off",
      async () =>
        (await at.orders()).some(({ merchantReference }) => merchantReference === "B") || undefined,
    );
    expect((await at.ledger()).charged).toBe(charged);
  },
);

test("a supervisor's database deleted in use is reported, saved, and restored", async () => {
  const at = new TestInstallation();
  onTestFinished(() => at.stop());
  await at.start();
  await at.connected();
  await at.firstPaid("first");
  for (const end of ["", "-wal", "-shm"]) rmSync(join(at.data, `supervisor.db${end}`));
  const reported = await until("the loss is reported", async () => {
    const { one } = (await at.call("GET", "/health")) as unknown as { one: Health };
    return one.troubles.find(({ trouble: condition }) => condition === "queue-unwritable");
  });
  expect(reported.says).toMatch(/supervisor\.db was deleted or moved away.*saved as/);
  expect((await at.pay(9, "A")).one).toMatchObject({ status: "Success" });
  const sent = (await at.orders()).length;
  await Promise.all([at.tpManager?.end("SIGTERM"), at.supervisor?.end("SIGTERM")]);
  expect(existsSync(join(at.data, "supervisor.db"))).toBe(false);
  const saved = readdirSync(join(at.data, "backup")).filter((name) => name.includes("-saved-"));
  expect(saved).toEqual([expect.stringMatching(/^supervisor-.*-saved-\d{6}\.db$/)]);
  const site = { ...installationAt(at.data), clock: systemClock, output };
  expect(await restore(site, { subject: "supervisor", from: undefined })).toBe(0);
  await Promise.all([at.startSupervisor(), at.startTpManager()]);
  await at.connected();
  expect((await at.pay(9, "A")).one).toMatchObject({ status: "Success", replayed: true });
  expect((await at.pay(7, "B")).one).toMatchObject({ status: "Success" });
  await until("B is sent", async () => (await at.orders()).length === sent + 1 || undefined);
});

test("a journal that was overwritten with an older copy of its size takes no payment", async () => {
  const at = new TestInstallation();
  onTestFinished(() => at.stop());
  await at.start();
  await at.connected();
  await at.firstPaid("first");
  await at.tpManager?.end("SIGTERM");
  const [path, older] = [join(at.data, "journal.db"), join(at.data, "older.db")];
  copyFileSync(path, older);
  await at.startTpManager();
  await at.connected();
  expect((await at.pay(9, "A")).one).toMatchObject({ status: "Success" });
  await at.tpManager?.end("SIGTERM");
  truncateSync(older, statSync(path).size);
  await at.startTpManager();
  await at.connected();
  const { charged } = await at.ledger();
  writeFileSync(path, readFileSync(older));
  const { http, one } = await at.pay(9, "B");
  expect([http, one.error]).toMatchObject([503, { code: "STORAGE_FAILED", charged: "no" }]);
  const { one: health } = (await at.call("GET", "/health")) as unknown as { one: Health };
  expect(health.reasons[0]).toMatch(/journal\.db was cut short or overwritten while it is in use/);
  expect((await at.ledger()).charged).toBe(charged);
  await at.tpManager?.end("SIGTERM");
  expect(readFileSync(path)).toEqual(readFileSync(older));
  // The next start knows it for an older copy: A is not charged again.
  await at.startTpManager();
  await at.connected();
  expect((await at.pay(9, "A")).one).toMatchObject({ status: "Success", replayed: true });
  expect((await at.ledger()).charged).toBe(charged);
});

interface Health {
  readonly obstacles: ReadonlyArray<{ readonly code: string }>;
  readonly reasons: readonly string[];
  readonly troubles: ReadonlyArray<{ readonly trouble: string; readonly says: string }>;
}
