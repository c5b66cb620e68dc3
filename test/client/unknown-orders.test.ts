import { expect, onTestFinished, test } from "vitest";
import { ConnectorClient } from "../../src/client/client.ts";
import { pay, request } from "../support/house/payment-house.ts";
import { listening } from "../tp-manager/http/listening.ts";

/** The most readers of events at once (src/tp-manager/http/events/event-streams.ts). */
const READERS_MAX = 16;

/** A client of the API in this process, on a real socket. */
async function clientOf(path = "") {
  const api = await listening();
  const url = `http://127.0.0.1:${api.port}${path}`;
  return { ...api, client: new ConnectorClient({ url, login: "kiosk", password: "secret" }) };
}

test("an order that never arrived is undefined", async () => {
  const { client } = await clientOf();
  expect(await client.payment("A-1")).toBeUndefined();
});

test("an order that a restored journal may lack is not known", async () => {
  const { client, at } = await clientOf();
  at.journal.gaps.begin("put back", false, at.clock.now());
  const error = { code: "ORDER_NOT_FOUND", charged: "unknown" };
  await expect(client.payment("A-1")).rejects.toMatchObject({ http: 404, error });
});

test("an order below a wrong address is not asked for, so it is not known", async () => {
  const { client } = await clientOf("/api");
  const error = { code: "NOT_FOUND" };
  await expect(client.payment("A-1")).rejects.toMatchObject({ http: 404, error });
});

test.each([".", ".."])("an order whose id is lost in the URL is not known: %s", async (orderId) => {
  const { at, client } = await clientOf();
  // Former versions charged such orders.
  await pay(at, request(orderId));
  await expect(client.payment(orderId)).rejects.toMatchObject({ error: { charged: "unknown" } });
});

test("a stream of events that the caller leaves is closed", async () => {
  const { client, get } = await clientOf();
  const { signal } = new AbortController();
  for (let left = 0; left < READERS_MAX; left++) {
    for await (const _ of client.events({ signal })) break;
  }
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const status = async () => (await get("/events", { signal: stop.signal })).status;
  await expect.poll(status).toBe(200);
});
