import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../support/programs/child-program.ts";
import { TestInstallation } from "../support/programs/installation.ts";

const at = new TestInstallation({
  alone: true,
  terminalSwitches: ["--instant"],
  config: {
    TEST_TIMERS: "yes",
    ZVT_T2_MS: 500,
    ZVT_T3_MS: 800,
    ZVT_T4_MS: 2_000,
    RECOVERY_SILENCE_MS: 100,
    POLL_INTERVAL_MS: 200,
    AUTO_END_OF_DAY: "no",
    GATEWAY_WAIT: 0,
  },
});

beforeAll(async () => {
  await at.start();
  await at.connected();
});

afterAll(() => at.stop());

const demand = () => at.control("POST", "/state", { demand: { "end-of-day": true } });

const call = async (): Promise<unknown> => (await at.call("GET", "/check?fresh=yes")).one["call"];

test("an end of day is left to the operator when the setup file says so", async () => {
  await demand();
  await until("the demand is seen", async () => (await call()) === "1" || undefined);
  // The first look of a program that has just started would run one by itself.
  await at.tpManager?.end("SIGTERM");
  await at.startTpManager();
  await at.connected();
  await until("the demand is seen again", async () => (await call()) === "1" || undefined);
  expect((await at.call("POST", "/tlc")).http).toBe(200);
  expect(await call()).toBe("0");
});

test("an end of day that the terminal demands is run by itself, after a crash too", async () => {
  expect((await at.pay(3, "closed")).one.status).toBe("Success");
  await at.tpManager?.end("SIGKILL");
  const config = join(at.data, "config.txt");
  const lines = readFileSync(config, "utf8").split("\n");
  const others = lines.filter((line) => !line.startsWith("AUTO_END_OF_DAY="));
  expect(others).toHaveLength(lines.length - 1);
  writeFileSync(config, others.join("\n"));
  await demand();
  await at.startTpManager();
  await at.connected();
  await until("the demand is met", async () => (await call()) === "0" || undefined);
  expect((await at.pay(3, "after")).one.status).toBe("Success");
  const reversal = await at.call("POST", "/reversal", { orderId: "closed" });
  expect(reversal.one.error).toMatchObject({ code: "REVERSAL_REFUSED", charged: "yes" });
});
