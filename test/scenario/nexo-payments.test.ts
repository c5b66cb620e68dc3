import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { until } from "../support/programs/child-program.ts";
import { type Answer, TestInstallation } from "../support/programs/installation.ts";
import { nexoInstallation } from "../support/terminals/nexo-installation.ts";

const root = join(temporaryFolder(afterAll), "root.pem");
/** One installation whose terminal speaks nexo; each test pays for orders of its own. */
let at: TestInstallation;
beforeAll(async () => {
  const { terminalSwitches, config } = nexoInstallation(root);
  const settings = { ...config, GATEWAY_WAIT: 20_000 };
  at = new TestInstallation({ line: "tcp", terminalSwitches, config: settings });
  await at.start();
  await at.connected();
});
afterAll(() => at.stop());

const summaryOf = ({ one }: Answer) => [one.status, one.error?.charged];

/** The minor units that the bank has kept since then. */
async function keptSince(before: number): Promise<number> {
  return (await at.ledger()).charged - before;
}

/** Waits until the customer stands at the terminal, whom the fault `hold` keeps there. */
async function atTheCard(): Promise<void> {
  await until("the customer stands there", async () => {
    const { running } = await at.control<{ running: { phase: string } | null }>("GET", "/state");
    return running?.phase === "card" || undefined;
  });
}

/** The answer to the repeated request once the order's outcome is known. */
async function outcomeOf(amount: number, orderId: string): Promise<readonly unknown[]> {
  return await until(`the outcome of ${orderId} is known`, async () => {
    const answer = await at.pay(amount, orderId);
    const isKnown = answer.one.error === null || answer.one.error.charged !== "unknown";
    return isKnown ? summaryOf(answer) : undefined;
  });
}

test("bank and gateway agree with what the kiosk is answered", async () => {
  const paid = await at.pay(12, "nexo 1", { customData: { kiosk: "K-1" } });
  expect(summaryOf(paid)).toEqual(["Success", undefined]);
  expect(paid.one.receipt["primaryAccountNumber"]).toMatch(/^\d{6}X+\d{4}$/);
  expect(summaryOf(await at.pay(12.05, "nexo 2"))).toEqual(["Declined", "no"]);
  const again = await at.pay(12, "nexo 1");
  expect(again.headers.get("idempotent-replay")).toBe("true");
  expect(await keptSince(0)).toBe(1_200);
  const orders = (await at.orders()).map(({ merchantReference }) => merchantReference);
  expect(orders).toEqual(["nexo 1"]);
});

test.each(["lost-answer", "cut-answer", "unplug:at=charged,ms=50"])(
  "an order whose answer is lost by %s is known by its id, and charged once",
  async (fault) => {
    const { charged } = await at.ledger();
    await at.arm(fault);
    await at.pay(5, `nexo ${fault}`);
    expect(await outcomeOf(5, `nexo ${fault}`)).toEqual(["Success", undefined]);
    expect(await keptSince(charged)).toBe(500);
  },
);

test("a connector that is killed while the card is read asks for its order by id", async () => {
  const { charged } = await at.ledger();
  await at.arm("hold:at=card");
  const paying = at.pay(6, "nexo killed").catch(() => undefined);
  await atTheCard();
  await at.tpManager?.end("SIGKILL");
  await paying;
  await at.startTpManager();
  await at.disarm();
  expect(await outcomeOf(6, "nexo killed")).toEqual(["Success", undefined]);
  expect(await keptSince(charged)).toBe(600);
});

test("a cancelled payment is not charged, and a reversal is only requested", async () => {
  const { charged } = await at.ledger();
  await at.arm("hold:at=card");
  const paying = at.pay(7, "nexo cancelled");
  await atTheCard();
  expect((await at.call("POST", "/cancel")).http).toBe(200);
  await at.disarm();
  expect(summaryOf(await paying)[1]).toBe("no");
  expect(await keptSince(charged)).toBe(0);

  expect(summaryOf(await at.pay(8, "nexo reversed"))).toEqual(["Success", undefined]);
  const reversal = await at.call("POST", "/reversal", { orderId: "nexo reversed" });
  expect(summaryOf(reversal)).toEqual(["Unknown", "unknown"]);
  // Nobody may take the order for unpaid, and it is never charged a second time.
  expect(summaryOf(await at.pay(8, "nexo reversed"))[1]).toBe("unknown");
});
