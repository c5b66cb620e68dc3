import { afterAll, beforeAll, expect, test } from "vitest";
import { sleep, systemClock } from "../../src/shared/time.ts";
import { until } from "../support/programs/child-program.ts";
import { type Answer, TestInstallation } from "../support/programs/installation.ts";
import { isWhole } from "../support/run/scope.ts";

const CLIENTS = 100;

const at = new TestInstallation({
  terminalSwitches: ["--instant"],
  config: {
    TEST_TIMERS: "yes",
    ZVT_T3_MS: 1_000,
    ZVT_T4_MS: 3_000,
    RECOVERY_SILENCE_MS: 200,
    POLL_INTERVAL_MS: 500,
    GATEWAY_WAIT: 1_000,
  },
});
beforeAll(async () => {
  if (!isWhole) return;
  await at.start();
  await at.connected();
});
afterAll(() => at.stop());

/** No two clients pay the same amount, so that the terminal's ledger names the client. */
const amountOf = (client: number): number => client + 1 + (client % 10 === 3 ? 0.05 : 0);
const orderOf = (client: number): string => `client-${client}`;
const minorOf = (client: number): number => Math.round(amountOf(client) * 100);

/** Asks once; undefined: the line broke, nobody listens, or the client hung up after `ms`. */
async function ask(
  ms: number | undefined,
  ...[method, path, body, more]: Parameters<typeof at.call>
) {
  const signal = ms === undefined ? undefined : AbortSignal.timeout(ms);
  const answer = at.call(method, path, body, { ...more, ...(signal && { signal }) });
  return await answer.catch(() => undefined);
}

/** What a client may do with the answer to its order. */
function judged({ http, one }: Answer): "over" | "again" | "absent" | "read" {
  if (one.status === "Success" || one.status === "Declined") return "over";
  if (one.error?.charged !== "no") return "read";
  return http === 404 ? "absent" : "again";
}

/** A program that holds no line; every third one hangs up, when it pays and when it asks. */
async function client(number: number): Promise<string> {
  const path = `/payment/${orderOf(number)}`;
  const pause = () => sleep(systemClock, "client", 60 + ((number * 37) % 120));
  let hangsUp = number % 3 === 0 ? 3 : 0;
  let isAccepted = false;
  for (;;) {
    const body = { orderId: orderOf(number), amount: amountOf(number) };
    const ms = hangsUp-- > 0 ? 4 : undefined;
    const paid = await ask(ms, "POST", "/payment", body, { headers: { prefer: "respond-async" } });
    isAccepted ||= paid?.http === 202;
    let answer = paid;
    let absent = 0;
    while (answer === undefined || judged(answer) === "read" || judged(answer) === "absent") {
      absent = answer && judged(answer) === "absent" ? absent + 1 : 0;
      if (absent > 1) break;
      expect([isAccepted, absent], orderOf(number)).not.toEqual([true, 1]);
      if (answer?.http !== 202) await pause();
      const readMs = hangsUp-- > 0 ? 20 : undefined;
      answer = await ask(readMs, "GET", path, undefined, { headers: { prefer: "wait=30" } });
    }
    if (answer && judged(answer) === "over") return answer.one.status;
    await pause();
  }
}

test.skipIf(!isWhole)(
  "a hundred clients that hang up and ask again, and three restarts: each order once",
  async () => {
    const answers = new Map<number, string>();
    const clients = Array.from({ length: CLIENTS }, async (_, number) => {
      answers.set(number, await client(number));
    });
    for (const [share, signal] of [
      [0.2, "SIGTERM"],
      [0.45, "SIGKILL"],
      [0.7, "SIGTERM"],
    ] as const) {
      await until("some clients are served", () => answers.size >= share * CLIENTS || undefined);
      await at.tpManager?.end(signal);
      await at.startTpManager();
    }
    await Promise.all(clients);
    const { entries } = await at.ledger();
    for (const [number, status] of answers) {
      const own = entries.filter(({ amountMinor }) => amountMinor === minorOf(number));
      const times = (kind: string) => own.filter((entry) => entry.kind === kind).length;
      const isCharged = status === "Success";
      expect([number, times("charge") - times("reversal")]).toEqual([number, isCharged ? 1 : 0]);
      expect(isCharged).toBe(number % 10 !== 3);
      const { one } = await at.call("GET", `/payment/${orderOf(number)}`);
      expect([number, one.status]).toEqual([number, status]);
    }
    const sold = [...answers].filter(([, status]) => status === "Success").length;
    const atGateway = async (): Promise<number> =>
      new Set((await at.orders()).map(({ merchantReference }) => merchantReference)).size;
    await expect.poll(atGateway).toBe(sold);
    expect(await at.orders()).toHaveLength(sold);
    const health = (await at.call("GET", "/health")).one as unknown as { troubles: unknown };
    expect(JSON.stringify(health.troubles)).not.toContain("charges-unread");
  },
);
