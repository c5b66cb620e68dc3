import { until } from "../../support/programs/child-program.ts";
import { TestInstallation } from "../../support/programs/installation.ts";
import type { DiskRecord } from "./disk-record.ts";
import { Recorder } from "./recorder.ts";

/**
 * One day of a kiosk. Starts an installation whose disk is recorded, has it do everything that
 * moves money, and kills it. Throws when a step does not end as it should.
 */
export async function recordSession(library: string): Promise<readonly DiskRecord[]> {
  let recorder: Recorder | undefined;
  const at = new TestInstallation({
    terminalSwitches: ["--instant", "--vending"],
    sandboxSwitches: ["--auto-pay"],
    environment: (data) => {
      recorder ??= new Recorder(library, data);
      return recorder.environment;
    },
    config: { TEST_TIMERS: "yes", RECOVERY_SILENCE_MS: 100, POLL_INTERVAL_MS: 300 },
  });
  try {
    await at.start();
    await at.connected();
    await liveThroughADay(at);
    await Promise.all([at.tpManager?.end("SIGKILL"), at.supervisor?.end("SIGKILL")]);
    return recorder?.take() ?? [];
  } finally {
    await at.stop();
    recorder?.close();
  }
}

async function liveThroughADay(at: TestInstallation): Promise<void> {
  const expected = async (status: string, asked: ReturnType<TestInstallation["call"]>) => {
    const { one } = await asked;
    if (one.status !== status) throw new Error(`${one.status} for ${status}: ${one.error?.code}`);
  };
  const delivery = { withinSeconds: 20 };
  await at.firstPaid("seed");
  await expected("Success", at.pay(11, "sale"));
  await expected("Declined", at.pay(12.05, "declined"));
  await expected("Approved", at.pay(13, "goods", { delivery }));
  await expected("Success", at.call("POST", "/delivery", { orderId: "goods", delivered: true }));
  await expected("Approved", at.pay(14, "no-goods", { delivery }));
  const none = { orderId: "no-goods", delivered: false };
  await expected("Cancelled", at.call("POST", "/delivery", none));
  await expected("Success", at.pay(15, "returned"));
  await expected("Reversed", at.call("POST", "/reversal", { orderId: "returned" }));
  await expected("Success", at.pay(16, "refunded"));
  const order = await until("the gateway has the order", async () =>
    (await at.orders()).find(({ merchantReference }) => merchantReference === "refunded"),
  );
  const { transactionPublicId } = order as unknown as { transactionPublicId: string };
  await expected("Success", at.call("POST", "/gateway/refund", { transactionPublicId }));
  await expected("Success", at.call("POST", "/tlc").then(completed));
  await expected("Success", at.pay(17, "last"));
}

/** An end of day has no status of its own. */
function completed(answer: Awaited<ReturnType<TestInstallation["call"]>>) {
  const done = answer.http === 200;
  return done ? { ...answer, one: { ...answer.one, status: "Success" } } : answer;
}
