import { afterAll, beforeAll, expect, test } from "vitest";
import { ChildProgram, until } from "../support/programs/child-program.ts";
import { TestInstallation } from "../support/programs/installation.ts";

/** One installation for all: each test has orders of its own, and ends when they are settled. */
const at = new TestInstallation({
  terminalSwitches: ["--instant"],
  config: {
    TEST_TIMERS: "yes",
    ZVT_T3_MS: 1_000,
    ZVT_T4_MS: 3_000,
    RECOVERY_SILENCE_MS: 200,
    POLL_INTERVAL_MS: 1_000,
    GATEWAY_WAIT: 1_000,
  },
});

beforeAll(async () => {
  await at.start();
  await at.connected();
});

afterAll(() => at.stop());

/** The customer stands before the terminal until {@link presentsCard}. */
const waitsForCard = () => at.arm("hold:at=card");
const presentsCard = () => at.disarm();

const runs = (orderId: string): Promise<true> =>
  until(`${orderId} is being paid`, async () => {
    return (await at.call("GET", `/payment/${orderId}`)).http === 504 || undefined;
  });

const arrived = async (orderId: string): Promise<number> =>
  (await at.orders()).filter(({ merchantReference }) => merchantReference === orderId).length;

/** The order is at the gateway, once, and our own journal says so. */
async function arrives(orderId: string): Promise<void> {
  await until(`${orderId} is shown as sent`, async () => {
    const { one } = await at.call("GET", `/payment/${orderId}`);
    return one.notificationGatewaySent || undefined;
  });
  expect(await arrived(orderId)).toBe(1);
}

test("with a stopped gateway the answer is in time, and the order is sent later", async () => {
  await at.sandbox?.end();
  const { one } = await at.pay(5, "A-1");
  expect([one.status, one.notificationGatewaySent]).toEqual(["Success", false]);
  await at.startSandbox();
  await arrives("A-1");
});

test("a supervisor that is killed during a payment loses nothing", async () => {
  await waitsForCard();
  const payment = at.pay(5, "B-1");
  await runs("B-1");
  expect((await at.pay(6, "B-2")).http).toBe(409);
  await at.supervisor?.end("SIGKILL");
  await presentsCard();
  const { one } = await payment;
  expect([one.status, one.notificationGatewaySent]).toEqual(["Success", false]);
  await at.startSupervisor();
  await arrives("B-1");
});

test("the same order, however often it is requested, is charged once", async () => {
  const before = (await at.ledger()).entries.length;
  await waitsForCard();
  const paying = Array.from({ length: 5 }, () => at.pay(5, "C-1"));
  await runs("C-1");
  await presentsCard();
  const answers = await Promise.all(paying);
  expect(answers.map(({ one }) => one.status)).toEqual(Array(5).fill("Success"));
  expect(new Set(answers.map(({ one }) => one.transactionId)).size).toBe(1);
  expect((await at.ledger()).entries).toHaveLength(before + 1);
});

test("a kiosk that hangs up does not end the payment", async () => {
  const before = (await at.ledger()).entries.length;
  await waitsForCard();
  const kiosk = new AbortController();
  const body = { amount: 5, orderId: "D-1" };
  const paying = at.call("POST", "/payment", body, { signal: kiosk.signal });
  const hungUp = expect(paying).rejects.toThrow();
  await runs("D-1");
  kiosk.abort();
  await hungUp;
  await presentsCard();
  const { one } = await at.pay(5, "D-1");
  expect(one.status).toBe("Success");
  expect((await at.ledger()).entries).toHaveLength(before + 1);
});

test("a second start of a program of one installation ends at once", async () => {
  const mains = ["tp-manager/main.ts", "supervisor/main.ts"];
  const seconds = mains.map((main) => new ChildProgram(main, ["--data", at.data]));
  for (const second of seconds) {
    await until("it ends", () => (second.running ? undefined : true));
    expect(await second.end()).toBe(75);
  }
});

test("tp-manager killed after the approval answers the truth after its restart", async () => {
  const before = await at.ledger();
  // The ACK of the sale arrives and the sale stands, but the terminal's completion does not come.
  await at.arm("mute:at=completion,ms=500");
  const payment = at.pay(5, "E-1").catch(() => "connection lost");
  const number = before.entries.length;
  // Killed earlier, the terminal may take the sale back, and no test could predict the answer.
  const stands = async () => (await at.ledger()).entries[number]?.final || undefined;
  await until("the terminal has our ACK", stands);
  await at.tpManager?.end("SIGKILL");
  expect(await payment).toBe("connection lost");
  await at.startTpManager();
  const found = await until("recovery has ended", async () => {
    const answer = await at.call("GET", "/payment/E-1");
    return answer.one.status === "Unknown" ? undefined : answer;
  });
  expect(found.one.status).toBe("Success");
  expect((await at.ledger()).charged).toBe(before.charged + 500);
});
