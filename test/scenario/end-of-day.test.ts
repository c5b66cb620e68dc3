import { afterEach, expect, test } from "vitest";
import { until } from "../support/child-program.ts";
import { TestInstallation } from "../support/installation.ts";

const config = {
  TEST_TIMERS: "yes",
  ZVT_T2_MS: 500,
  ZVT_T3_MS: 800,
  ZVT_T4_MS: 2_000,
  RECOVERY_SILENCE_MS: 100,
  POLL_INTERVAL_MS: 200,
};

const started: TestInstallation[] = [];

afterEach(async () => {
  for (const at of started.splice(0)) await at.stop();
});

async function installation(change: Record<string, string> = {}): Promise<TestInstallation> {
  const at = new TestInstallation({
    terminalSwitches: ["--instant"],
    config: { ...config, ...change },
  });
  started.push(at);
  await at.start();
  await at.connected();
  return at;
}

const demand = (at: TestInstallation): Promise<Response> =>
  fetch(`${at.terminalEndpoints?.control}/state`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ demand: { "end-of-day": true } }),
  });

const call = async (at: TestInstallation): Promise<unknown> =>
  (await at.call("GET", "/check")).one["call"];

test("an end of day that the terminal demands is run by itself, after a crash too", async () => {
  const at = await installation();
  expect((await at.pay(3, "closed")).one.status).toBe("Success");
  await at.tpManager?.end("SIGKILL");
  await demand(at);
  await at.startTpManager();
  await at.connected();
  await until("the demand is met", async () => (await call(at)) === "0" || undefined);
  expect((await at.pay(3, "after")).one.status).toBe("Success");
  const reversal = await at.call("POST", "/reversal", { orderId: "closed" });
  expect(reversal.one.error).toMatchObject({ code: "REVERSAL_REFUSED", charged: "yes" });
});

test("an end of day is left to the operator when the setup file says so", async () => {
  const at = await installation({ AUTO_END_OF_DAY: "no" });
  await demand(at);
  await until("the demand is seen", async () => (await call(at)) === "1" || undefined);
  // The first look of a program that has just started would run one by itself.
  await at.tpManager?.end("SIGTERM");
  await at.startTpManager();
  await at.connected();
  await until("the demand is seen again", async () => (await call(at)) === "1" || undefined);
  expect((await at.call("POST", "/tlc")).http).toBe(200);
  expect(await call(at)).toBe("0");
});
