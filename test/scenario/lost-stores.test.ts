import { expect, onTestFinished, test } from "vitest";
import { removeStore } from "../support/house/two-stores.ts";
import { until } from "../support/programs/child-program.ts";
import { TestInstallation } from "../support/programs/installation.ts";

test("real programs that lost a database charge nothing and send nothing twice", async () => {
  const at = new TestInstallation();
  onTestFinished(() => at.stop());
  await at.start();
  await at.connected();
  await at.firstPaid("first");
  expect((await at.pay(9, "A")).one).toMatchObject({ status: "Success" });
  const { charged } = await at.ledger();
  const orders = (await at.orders()).length;

  await Promise.all([at.tpManager?.end("SIGKILL"), at.supervisor?.end("SIGKILL")]);
  removeStore(at.data, "journal");
  await at.startTpManager();
  const unknown = await at.pay(9, "A");
  expect([unknown.http, unknown.one.error]).toMatchObject([
    503,
    { code: "STORES_DISAGREE", charged: "unknown" },
  ]);
  await at.startSupervisor();
  const replayed = await until("the supervisor's orders are known", async () => {
    const { one } = await at.pay(9, "A");
    return one.status === "Success" ? one : undefined;
  });
  expect(replayed).toMatchObject({ replayed: true });
  expect((await at.ledger()).charged).toBe(charged);

  await until("all of them are imported", async () => {
    const paid = await Promise.all(["A", "first-1"].map((id) => at.call("GET", `/payment/${id}`)));
    return paid.every(({ http }) => http === 200) || undefined;
  });
  await at.supervisor?.end("SIGKILL");
  removeStore(at.data, "supervisor");
  await at.startSupervisor();
  await until("everything is handed off again", async () => {
    const { one } = (await at.call("GET", "/health")) as unknown as { one: Health };
    return one.outbox?.sent === orders || undefined;
  });
  expect(await at.orders()).toHaveLength(orders);
});

interface Health {
  readonly outbox: { readonly sent: number } | null;
}
