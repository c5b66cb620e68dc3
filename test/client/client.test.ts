import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { ConnectorClient, ConnectorError, type ConnectorEvent } from "../../src/client/client.ts";
import { PATIENCE_MS } from "../support/clocks/patience.ts";
import { TestInstallation } from "../support/programs/installation.ts";

/** A whole installation of real processes, and a client of it. Every test has its own orders. */
const at = new TestInstallation({ terminalSwitches: ["--instant"] });
let client: ConnectorClient;
beforeAll(async () => {
  await at.start();
  await at.connected();
  client = new ConnectorClient({ url: at.url, login: "kiosk", password: at.password });
});
afterAll(() => at.stop());

/** The states that the events reported about a payment, in order. */
const statesOf = (orderId: string, arrived: readonly ConnectorEvent[]): unknown[] =>
  arrived.flatMap(({ name, data }) =>
    name === "payment" && data.orderId === orderId ? data.state : [],
  );

test("the client pays, looks up, replays, listens and is refused by real programs", async () => {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const arrived: ConnectorEvent[] = [];
  const listening = (async () => {
    for await (const event of client.events({ signal: stop.signal, afterId: 0 }))
      arrived.push(event);
  })();

  const paid = await client.pay({ amount: 9, orderId: "A-1", customData: { kiosk: "K-12" } });
  expect(paid).toMatchObject({ status: "Success", error: null, amount: 9, orderId: "A-1" });
  const again = await client.pay({ amount: 9, orderId: "A-1" });
  expect(again).toMatchObject({ status: "Success", replayed: true });
  const declined = await client.pay({ amount: 9.05, orderId: "A-2" });
  expect(declined).toMatchObject({ status: "Declined", error: { charged: "no" } });
  const mismatch = await client.pay({ amount: 8, orderId: "A-1" });
  expect(mismatch).toMatchObject({
    status: "Failed",
    error: { code: "ORDER_MISMATCH", charged: "yes" },
  });
  const wrong = await client.pay({ amount: -1, orderId: "A-3" });
  expect(wrong).toMatchObject({ status: "Failed", error: { code: "REQUEST_INVALID" } });

  const found = await client.payment("A-1");
  expect([found?.attempts.length, found?.endsAt, found?.secondsLeft]).toEqual([1, null, null]);
  expect(await client.payment("never")).toBeUndefined();
  expect((await client.health()).status).toBe("Ready");
  expect((await client.check()).cr).toBe("0");
  expect((await client.version()).type).toBe("tpa");
  await expect(client.cancel()).rejects.toMatchObject({ error: { code: "NOTHING_TO_CANCEL" } });
  const unknown = { status: "Failed", error: { code: "ORDER_NOT_FOUND" } };
  expect(await client.reverse("never")).toMatchObject(unknown);
  expect(await client.deliver("never", true)).toMatchObject(unknown);

  await expect.poll(() => statesOf("A-1", arrived)).toEqual(["running", "charged"]);
  expect(statesOf("A-2", arrived)).toEqual(["running", "declined"]);
  const times = arrived.flatMap(({ name, data }) =>
    name === "payment" && data.orderId === "A-1" ? [[data.endsAt, data.secondsLeft]] : [],
  );
  expect(times).toEqual([
    [expect.stringMatching(/^\d{4}-.*Z$/), 180],
    [null, null],
  ]);
  stop.abort();
  await listening;
  expect((await at.ledger()).charged).toBe(900);
});

test("the events continue after the last one received when tp-manager is restarted", async () => {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const arrived: ConnectorEvent[] = [];
  const listening = (async () => {
    for await (const event of client.events({ signal: stop.signal, afterId: 0 }))
      arrived.push(event);
  })();
  await client.pay({ amount: 9, orderId: "B-1" });
  await expect.poll(() => statesOf("B-1", arrived)).toEqual(["running", "charged"]);
  await at.tpManager?.end("SIGKILL");
  await at.startTpManager();
  await at.connected();
  await client.pay({ amount: 9, orderId: "B-2" });
  await expect.poll(() => statesOf("B-2", arrived)).toEqual(["running", "charged"]);
  const ids = arrived.flatMap(({ id }) => id ?? []);
  expect(ids).toEqual(ids.map((_, i) => i + 1));
  stop.abort();
  await listening;
});

test("a wrong login ends the events with the reason, whatever characters it has", async () => {
  const stranger = new ConnectorClient({ url: at.url, login: "kiosk", password: "pässwörd ☃" });
  const events = stranger.events({ signal: AbortSignal.timeout(PATIENCE_MS) });
  const failure = await events.next().catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ConnectorError);
  expect(failure).toMatchObject({ http: 401, error: { code: "UNAUTHORIZED" } });
});
