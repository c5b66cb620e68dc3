import { expect, onTestFinished, test } from "vitest";
import { until } from "../support/child-program.ts";
import { type InstallationOptions, TestInstallation } from "../support/installation.ts";

const shortTimers = {
  TEST_TIMERS: "yes",
  ZVT_T3_MS: 1_000,
  ZVT_T4_MS: 3_000,
  RECOVERY_SILENCE_MS: 200,
  POLL_INTERVAL_MS: 1_000,
};

async function installation(options: InstallationOptions = {}): Promise<TestInstallation> {
  const at = new TestInstallation({
    ...options,
    config: { ...shortTimers, GATEWAY_WAIT: 1_000, ...options.config },
  });
  onTestFinished(() => at.stop());
  await at.start();
  await at.connected();
  return at;
}

test("a stopped gateway: the answer is in time and the order arrives later by itself", async () => {
  const at = await installation({ terminalSwitches: ["--instant"] });
  await at.sandbox?.end();
  const { one } = await at.pay(5, "A-1");
  expect([one.status, one.notificationGatewaySent]).toEqual(["Success", false]);
  await at.startSandbox();
  await until("the order is told as sent", async () => {
    const { one: found } = await at.call("GET", "/payment/A-1");
    return found.notificationGatewaySent || undefined;
  });
  expect(await at.orders()).toHaveLength(1);
});

test("a supervisor that is killed during a payment loses nothing", async () => {
  const at = await installation({ terminalSwitches: ["--customer-delay-ms", "800"] });
  const payment = at.pay(5, "A-1");
  await until("the payment runs", async () => (await at.pay(6, "B-1")).http === 409 || undefined);
  await at.supervisor?.end("SIGKILL");
  const { one } = await payment;
  expect([one.status, one.notificationGatewaySent]).toEqual(["Success", false]);
  await at.startSupervisor();
  await until("the order arrives", async () => (await at.orders())[0]);
});

test("tp-manager killed after the approval tells the truth after its restart", async () => {
  const at = await installation({ terminalSwitches: ["--instant"] });
  expect((await at.pay(4, "A-0")).one.status).toBe("Success");
  // The sale is acknowledged and stands, but the terminal's completion does not come.
  await fetch(`${at.terminalEndpoints?.control}/faults`, {
    method: "POST",
    body: JSON.stringify({ name: "mute", at: "completion", ms: 500 }),
  });
  const payment = at.pay(5, "A-1").catch(() => "connection lost");
  await until("the terminal has approved", async () => (await at.ledger()).entries[1]);
  await at.tpManager?.end("SIGKILL");
  expect(await payment).toBe("connection lost");
  await at.startTpManager();
  const found = await until("recovery has ended", async () => {
    const answer = await at.call("GET", "/payment/A-1");
    return answer.one.status === "Unknown" ? undefined : answer;
  });
  const { charged } = await at.ledger();
  expect(found.one.status).toBe(charged > 400 ? "Success" : "Failed");
});

test("the same order again, as often as it is asked for, is charged once", async () => {
  const at = await installation({ terminalSwitches: ["--customer-delay-ms", "300"] });
  const answers = await Promise.all(Array.from({ length: 5 }, () => at.pay(5, "A-1")));
  expect(answers.map(({ one }) => one.status)).toEqual(Array(5).fill("Success"));
  expect(new Set(answers.map(({ one }) => one.transactionId)).size).toBe(1);
  expect((await at.ledger()).entries).toHaveLength(1);
});

test("a kiosk that hangs up does not end the payment", async () => {
  const at = await installation({ terminalSwitches: ["--customer-delay-ms", "500"] });
  const signal = AbortSignal.timeout(200);
  const body = { amount: 5, orderId: "A-1" };
  await expect(at.call("POST", "/payment", body, { signal })).rejects.toThrow();
  const { one } = await at.pay(5, "A-1");
  expect(one.status).toBe("Success");
  expect((await at.ledger()).entries).toHaveLength(1);
});

test("two programs of one installation cannot run twice", async () => {
  const at = await installation();
  const { ChildProgram } = await import("../support/child-program.ts");
  for (const main of ["tp-manager/main.ts", "supervisor/main.ts"]) {
    const second = new ChildProgram(main, ["--data", at.data]);
    await until("it ends", () => (second.running ? undefined : true));
    expect(await second.end()).toBe(75);
  }
});
