import { describe, expect, onTestFinished, test } from "vitest";
import { eventTable } from "../../../src/tp-manager/attempts/event-table.ts";
import { EventRows } from "../../../src/tp-manager/journal/event-rows.ts";
import { deliveryPoll } from "../../../src/tp-manager/supervisor/polls.ts";
import { house, request } from "../../support/house/payment-house.ts";
import { approves } from "../../support/terminals/scripted-terminal.ts";
import { listening } from "./listening.ts";
import { authorization } from "./rig.ts";

interface Arrived {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: Record<string, unknown>;
}

type Api = Awaited<ReturnType<typeof listening>>;

/** Reads a stream as a page would with fetch; every event must be as the table says. */
async function stream({ get }: Api, headers: Record<string, string> = {}, path = "/events") {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const response = await get(path, { headers, signal: abort.signal });
  const arrived: Arrived[] = [];
  let text = "";
  const done = (async () => {
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk as Uint8Array);
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) read(block, arrived);
    }
  })().catch(() => undefined);
  return { response, arrived, done, abort: () => abort.abort() };
}

function read(block: string, arrived: Arrived[]): void {
  const line = (name: string): string | undefined =>
    new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
  const event = line("event");
  if (event === undefined) return;
  const data = JSON.parse(line("data") ?? "");
  expect(Object.keys(eventTable)).toContain(event);
  expect(eventTable[event as keyof typeof eventTable].safeParse(data).error).toBeUndefined();
  expect(Date.parse(data.at)).not.toBeNaN();
  arrived.push({ id: line("id"), event, data });
}

/** A gateway's answer is written with the next commit, at the latest after this time. */
const COMMIT_MS = 1_000;

const getEvents = ({ port }: Api): string =>
  `GET /events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: ${authorization}\r\n\r\n`;

const names = (arrived: Arrived[]) =>
  arrived.map(({ event, data }) => `${event} ${data["state"] ?? data["delivery"] ?? data["text"]}`);

describe("GET /events", () => {
  test("sends the terminal, a payment's states, prompts and the delivery, in order", async () => {
    const api = await listening();
    const { arrived, response } = await stream(api);
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    api.at.terminal.script = (order, observer) => {
      observer.prompt({ code: "0A", text: "Insert card", language: "en", texts: null });
      return approves(order, observer);
    };
    await api.at.orders.pay(request("A-1"));
    await api.at.clock.advance(COMMIT_MS);
    await expect.poll(() => arrived.length).toBe(5);
    expect(names(arrived)).toEqual([
      "terminal ready",
      "payment running",
      "prompt Insert card",
      "payment charged",
      "delivery sent",
    ]);
    expect(arrived.map(({ id }) => id)).toEqual([undefined, "1", undefined, "2", "3"]);
    expect(arrived[3]?.data).toMatchObject({ orderId: "A-1", charged: "yes", amountMinor: 999 });
  });

  test("repeats the stored events after Last-Event-ID, after a restart too", async () => {
    const first = house();
    await first.orders.pay(request("A-1"));
    await first.orders.pay(request("A-2"));
    await first.clock.advance(COMMIT_MS);
    first.close();
    const api = await listening({}, house(first.path));
    const { arrived } = await stream(api, { "last-event-id": "2" });
    await expect.poll(() => arrived.length).toBe(5);
    expect(arrived.filter(({ id }) => id).map(({ id }) => id)).toEqual(["3", "4", "5", "6"]);
    const all = await stream(api, {}, "/events?lastEventId=0");
    await expect.poll(() => all.arrived.filter(({ id }) => id).length).toBe(6);
  });

  test("sends a gap for an id that another database gave", async () => {
    const api = await listening();
    const { arrived } = await stream(api, { "last-event-id": "99" });
    await expect.poll(() => arrived.length).toBe(2);
    expect(arrived[0]).toMatchObject({ event: "gap", data: { afterId: 99, beforeId: 1 } });
  });

  test("sends alarms and changes of the terminal", async () => {
    const api = await listening();
    const { arrived } = await stream(api);
    await expect.poll(() => arrived.length).toBe(1);
    api.at.terminal.become({ link: "disconnected", linkProblem: "unplugged" });
    api.at.terminal.become({ link: "disconnected", linkProblem: "unplugged" });
    api.at.hub.tap(api.at.log).error({ alarm: "journal", orderId: "A-9" }, "card 4111111111111111");
    await expect.poll(() => arrived.length).toBe(3);
    expect(names(arrived)[1]).toBe("terminal no-link");
    expect(arrived[2]?.data).toMatchObject({
      alarm: "journal",
      orderId: "A-9",
      message: "card 411111XXXXXX1111",
    });
  });

  test("needs credentials, an allowed origin, and a valid event id", async () => {
    const api = await listening();
    const status = async (headers: Record<string, string>, path = "/events") => {
      const response = await api.get(path, { headers });
      await response.body?.cancel();
      return response.status;
    };
    expect(await status({ authorization: "" })).toBe(401);
    expect(await status({ origin: "https://evil.test" })).toBe(403);
    expect(await status({ "last-event-id": "x" })).toBe(400);
    expect(await status({}, "/events?since=1")).toBe(400);
  });

  test("may be read by a page of a listed origin with fetch", async () => {
    const origin = "http://localhost:3000";
    const api = await listening({ allowedOrigins: [origin] });
    const { response } = await stream(api, { origin });
    expect(response.headers.get("access-control-allow-origin")).toBe(origin);
  });

  test("serves sixteen readers, and refuses the next one until a reader leaves", async () => {
    const api = await listening();
    const streams = await Promise.all(Array.from({ length: 16 }, () => stream(api)));
    const refused = await api.get("/events");
    expect([
      refused.status,
      ((await refused.json()) as [{ error: { code: string } }])[0].error.code,
    ]).toEqual([503, "TOO_MANY_READERS"]);
    streams[0]?.abort();
    await expect
      .poll(async () => {
        const again = await api.get("/events");
        await again.body?.cancel();
        return again.status;
      })
      .toBe(200);
  });

  test("sends heartbeats, and ends when the program stops", async () => {
    const at = house();
    const api = await listening({ clock: at.clock }, at);
    const { received, ended } = api.raw(getEvents(api));
    await expect.poll(received).toContain("event: terminal");
    await at.clock.advance(31_000);
    await expect.poll(() => received().split(": heartbeat").length).toBe(3);
    await api.close();
    expect(await ended).toContain("event: terminal");
    expect(at.clock.running).toEqual([]);
  });

  test("cuts off a reader that reads nothing", async () => {
    const at = house();
    const api = await listening({ clock: at.clock }, at);
    const { socket, received, ended } = api.raw(getEvents(api));
    await expect.poll(received).toContain("event: terminal");
    socket.pause();
    const message = "x".repeat(40_000);
    for (let i = 0; i < 400; i++) {
      at.journal.events.raise({ alarm: "test", message, orderId: null, transactionId: null }, 0);
      if (i % 50 === 0) await at.clock.advance(0);
    }
    await expect.poll(() => at.clock.running).toContain("slow event reader");
    await at.clock.advance(31_000);
    socket.resume();
    await ended;
    expect(at.clock.running).toEqual([]);
  });

  test("ends when the journal fails, and other calls go on", async () => {
    const at = house();
    const api = await listening({}, at);
    const { received, ended } = api.raw(getEvents(api));
    await expect.poll(received).toContain("event: terminal");
    at.close();
    at.terminal.become({ link: "disconnected", linkProblem: "unplugged" });
    await ended;
    expect((await api.get("/version")).status).toBe(200);
  });

  test("keeps only the newest events, and never gives an id twice", () => {
    const { journal } = house();
    const rows = new EventRows(journal, 10);
    const alarm = { alarm: "test", message: "", orderId: null, transactionId: null };
    for (let i = 0; i < 25; i++) rows.raise(alarm, 0);
    expect(rows.after(0, 100).map(({ id }) => id)).toEqual([
      16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
    ]);
  });

  test("sends a delivery that came after the kiosk had its answer", async () => {
    const at = house();
    const api = await listening({}, at);
    const poll = deliveryPoll(at.journal.handOffs, at.supervisor.link, at.clock, at.log);
    poll.start();
    onTestFinished(() => poll.close());
    at.supervisor.state = "pending";
    const { arrived } = await stream(api);
    await at.orders.pay(request("A-1"));
    await at.clock.advance(6_000);
    expect(names(arrived)).not.toContain("delivery sent");
    at.supervisor.state = "sent";
    await at.clock.advance(6_000);
    await expect.poll(() => names(arrived)).toContain("delivery sent");
  });
});
