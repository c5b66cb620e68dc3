import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { DigestSecret } from "../../../src/supervisor/notifications/mapi-notification.ts";
import { NotificationHandler } from "../../../src/supervisor/notifications/notification-handler.ts";
import * as port from "../../../src/supervisor/notifications/notification-listener.ts";
import {
  gatewayHistoryOf,
  gatewayReturns,
} from "../../../src/supervisor/operations/gateway-history.ts";
import { heapInUse } from "../../support/heap/heap.ts";
import { postsTo } from "../../support/programs/kept-connections.ts";
import { openRig, PASSWORD } from "../supervisor-rig.ts";
import { type Fields, mapiOf, md5, PUBLIC_ID, resultOf, secrets } from "./mapi.ts";

const CONNECTIONS_MAX = 256;
const CONNECTIONS_OF_SOURCE_MAX = 128;
const MESSAGES_PER_MINUTE_MAX = 600;
const NOTIFICATION_BYTES_MAX = 64 * 1024;
const SECRET = "fraud passphrase";

/** A supervisor with one order of 8.99 that listens for notifications. */
async function listening(
  options: {
    fraudSecret?: string | undefined;
    requestMs?: number;
    moreSecrets?: readonly DigestSecret[];
  } = { fraudSecret: SECRET },
) {
  const rig = await openRig();
  const transactionId = rig.handOver("A-1");
  const { operationStore, operations, losses, tally, clock, log } = rig;
  const handler = new NotificationHandler({
    operations: operationStore,
    losses,
    tally,
    clock,
    log,
    secrets: [...secrets, ...(options.moreSecrets ?? [])],
    fraudSecret: options.fraudSecret,
    onAccepted: (id) => operations.notified(id),
  });
  const listener = await port.startNotificationListener({
    host: "127.0.0.1",
    port: 0,
    handler,
    clock,
    log,
    ...(options.requestMs === undefined ? {} : { requestMs: options.requestMs }),
  });
  onTestFinished(() => listener.close());
  const send = (
    body: string | Buffer,
    { path = "/notify", type = "application/x-www-form-urlencoded", signature = "" } = {},
  ): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = { "content-type": type, "x-allopass-signature": signature };
      const port = listener.port;
      const sent = request({ port, method: "POST", path, headers, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      sent.on("error", reject);
      sent.end(body);
    });
  const formOf = (fields: Fields = {}, digest?: string): string => {
    const result = resultOf(fields);
    const xml = mapiOf(result, digest ?? md5(result + PASSWORD));
    return new URLSearchParams({ xml }).toString();
  };
  const notify = (fields?: Fields, digest?: string) => send(formOf(fields, digest));
  /** Hundreds of times the same, over one connection. */
  const sendOften = async (times: number, body: string): Promise<readonly number[]> => {
    const post = postsTo(listener.port, 1);
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const answers: number[] = [];
    while (answers.length < times) answers.push((await post("/notify", headers, body)).status);
    return answers;
  };
  const fraud = (event: object, secret = SECRET) => {
    const body = JSON.stringify(event);
    const signature = createHash("sha256").update(body).update(secret).digest("hex");
    return send(body, { path: "/fraud", type: "application/json", signature });
  };
  const history = () => gatewayHistoryOf("A-1", rig.operationStore);
  return { rig, transactionId, listener, formOf, send, sendOften, notify, fraud, history };
}

describe("a notification of our order", () => {
  const states: ReadonlyArray<[operation: string, status: string, state: string]> = [
    ["authorization", "ok", "authorized"],
    ["authorization", "nok", "declined"],
    ["authorization", "cancel", "aborted"],
    ["authorization", "waiting", "waiting"],
    ["capture", "ok", "captured"],
    ["capture", "nok", "unknown"],
    ["cancellation", "ok", "cancelled"],
    ["refund", "ok", "refunded"],
    ["refund", "nok", "unknown"],
    ["reject", "ok", "reversed"],
    ["subscription", "ok", "unknown"],
  ];
  test.each(states)("%s %s: %s", async (operation, status, state) => {
    const { notify, history } = await listening();
    expect(await notify({ operation, status })).toBe(200);
    expect(history().state).toBe(state);
  });

  test("brings the gateway's id, and the order id is known from then on", async () => {
    const { rig, notify, history } = await listening();
    expect((await rig.operations.resolve({ orderId: "A-1" })).found).toBe(false);
    await notify();
    expect(await rig.operations.resolve({ orderId: "A-1" })).toMatchObject({
      found: true,
      transactionPublicId: PUBLIC_ID,
    });
    expect(history()).toMatchObject({ known: true, transactionPublicIds: [PUBLIC_ID] });
  });

  test("counts once however often it comes, in any order, and before our own answer", async () => {
    const { notify, history } = await listening();
    await notify({ operation: "refund", refundedAmount: "4.00" });
    await notify({ operation: "capture" });
    await notify({ operation: "capture" });
    await notify({ operation: "authorization" });
    const { state, events } = history();
    expect(state).toBe("partly-refunded");
    expect(events.map(({ operation, copies }) => [operation, copies])).toEqual([
      ["refund", 1],
      ["capture", 2],
      ["authorization", 1],
    ]);
    await notify({ operation: "refund", refundedAmount: "4.99", time: "12:00:09 UTC+0000" });
    expect(history().state).toBe("refunded");
  });

  test("of a chargeback raises an alarm, once", async () => {
    const { rig, notify } = await listening();
    await notify({ operation: "reject" });
    await notify({ operation: "reject" });
    expect(rig.alarms()).toEqual(["chargeback-or-fraud"]);
  });

  const others: ReadonlyArray<[string, Fields]> = [
    ["another amount", { origAmount: "8.98" }],
    ["no amount", { origAmount: "" }],
    ["an amount that is none", { origAmount: "8,99" }],
    ["another currency", { origCurrency: "USD" }],
    ["an unknown order", { idForMerchant: "B-1" }],
    ["no order", { idForMerchant: "" }],
    ["no id", { transid: "" }],
    ["an id with other characters", { transid: "5CF6 2325" }],
  ];
  test.each(others)("with %s is not taken, and raises an alarm", async (_name, fields) => {
    const { rig, notify, history } = await listening();
    expect(await notify(fields)).toBe(403);
    expect(history()).toMatchObject({ state: "unknown", events: [], transactionPublicIds: [] });
    expect(rig.alarms()).toEqual(["notification-mismatch"]);
  });

  test("with an id that belongs to another order of ours is not taken", async () => {
    const { rig, notify, history } = await listening();
    rig.handOver("A-2");
    expect(await notify({ idForMerchant: "A-2" })).toBe(200);
    expect(await notify()).toBe(403);
    expect(history().state).toBe("unknown");
  });

  test("with a second id of one order raises an alarm", async () => {
    const { rig, notify } = await listening();
    await notify();
    expect(await notify({ transid: "5CF62325CB217656" })).toBe(200);
    expect(rig.alarms()).toEqual(["gateway-order-twice"]);
  });

  test("of an order that was lost is put off, and counts when it comes again", async () => {
    const { rig, notify } = await listening();
    rig.losses.note("put back");
    const about = { idForMerchant: "A-2", operation: "refund", origAmount: "8.99" };
    expect(await notify(about)).toBe(503);
    const transactionId = rig.handOver("A-2");
    rig.losses.end();
    expect(await notify(about)).toBe(200);
    expect(gatewayReturns(0, 9, rig.operationStore).returns).toEqual([
      { transactionId, returnedMinor: 899 },
    ]);
    expect(gatewayHistoryOf("A-2", rig.operationStore)).toMatchObject({ state: "refunded" });
    expect(await notify({ idForMerchant: "B-1" })).toBe(403);
  });

  test("is kept raw and parsed, with card numbers masked", async () => {
    const { rig, notify } = await listening();
    await notify({ emailClient: "4111111111111111@shop.example" });
    const row = rig.database.prepare("SELECT raw, parsed FROM notifications").get();
    expect(String(row?.["raw"])).toContain("<result><operation>capture</operation>");
    expect(JSON.parse(String(row?.["parsed"]))).toMatchObject({ paymentMethod: "VISA" });
    expect(JSON.stringify([row, rig.lines])).not.toContain("4111111111111111");
  });

  test("about no order of ours is alarmed with card numbers masked", async () => {
    const { rig, notify } = await listening();
    expect(await notify({ idForMerchant: "B-1", transid: "5500005555555559" })).toBe(403);
    expect(rig.database.prepare("SELECT about FROM alarms").all()).toMatchObject([
      { about: "550000XXXXXX5559" },
    ]);
  });

  test("may be signed with another secret, and the log names its setting", async () => {
    const salt = "salt-of-the-website";
    const setting = "NOTIFICATION_DIGEST_SECRETS 1";
    const { rig, notify } = await listening({ moreSecrets: [{ setting, value: salt }] });
    expect(await notify()).toBe(200);
    const fields = { operation: "refund" };
    expect(await notify(fields, md5(resultOf(fields) + salt))).toBe(200);
    const text = "the gateway notified the outcome of an order";
    const taken = rig.lines.filter(({ msg }) => msg === text);
    expect(taken.map(({ signedWith }) => signedWith)).toEqual(["GATEWAY_PWD", setting]);
    expect(JSON.stringify(rig.lines)).not.toContain(salt);
    expect(JSON.stringify(rig.lines)).not.toContain(PASSWORD);
  });

  test("is taken with CDATA when the digest covers it, else an operator hears of it", async () => {
    const { rig, notify, history } = await listening();
    const fields = { emailClient: "<![CDATA[a&b<c>@shop.example]]>" };
    expect(await notify(fields, md5("forged"))).toBe(403);
    expect([history().state, rig.alarms()]).toEqual(["unknown", ["notification-unreadable"]]);
    expect(await notify(fields)).toBe(200);
    const parsed = rig.database.prepare("SELECT parsed FROM notifications").get()?.["parsed"];
    expect(JSON.parse(String(parsed))["emailClient"]).toBe("a&b<c>@shop.example");
    expect([history().state, rig.alarms().length]).toEqual(["captured", 1]);
  });

  test("that is signed but cannot be read raises an alarm", async () => {
    const { rig, notify } = await listening();
    expect(await notify({ emailClient: "<!-- a comment -->" })).toBe(403);
    expect(rig.alarms()).toEqual(["notification-unreadable"]);
  });

  test("with a wrong digest leaves no trace but a line of the log", async () => {
    const { rig, notify, history } = await listening();
    expect(await notify({}, md5("forged"))).toBe(403);
    expect(history().events).toEqual([]);
    expect(rig.database.prepare("SELECT * FROM notifications").all()).toEqual([]);
    expect(rig.alarms()).toEqual([]);
  });

  test("settles the refund whose answer was lost", async () => {
    const { rig, notify } = await listening();
    await notify();
    rig.server.behave = () => "reset";
    const request = {
      operationId: "0b9f1e0e-6a1c-4f7e-9d0b-3a5f5a1b2c3d",
      kind: "refund",
      transactionPublicId: PUBLIC_ID,
      amountMinor: 400,
      currency: "EUR",
      exponent: 2,
    } as const;
    expect((await rig.operations.operate(request)).operation?.state).toBe("unknown");
    await notify({ operation: "refund", refundedAmount: "3.00" });
    expect((await rig.operations.end(request)).operation?.state).toBe("unknown");
    await notify({ operation: "refund", refundedAmount: "4.00" });
    expect((await rig.operations.end(request)).operation?.state).toBe("done");
  });
});

describe("a request of any sender", () => {
  test("with another method, type or form is refused", async () => {
    const { listener, send } = await listening();
    expect((await fetch(`http://127.0.0.1:${listener.port}/`)).status).toBe(405);
    expect(await send("xml=1", { type: "text/xml" })).toBe(415);
    expect(await send("xml=1")).toBe(403);
    expect(await send("other=1")).toBe(403);
    expect(await send("")).toBe(403);
  });

  test("with too large a body is refused, announced or not", async () => {
    const { listener, send } = await listening();
    expect(await send(Buffer.alloc(NOTIFICATION_BYTES_MAX + 1, "x"))).toBe(413);
    const response = await new Promise<string>((resolve) => {
      const socket = connect(listener.port, "127.0.0.1");
      let text = "";
      socket.on("data", (chunk) => (text += chunk));
      socket.on("close", () => resolve(text));
      socket.on("error", () => resolve(text));
      socket.write("POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
      const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
      socket.write(chunk + chunk);
    });
    expect(response).toMatch(/^HTTP\/1\.1 413 /);
  });

  test("that never comes to an end keeps no sender out, and is cut in time", async () => {
    const at = await listening({ fraudSecret: SECRET, requestMs: 300 });
    const slow = Array.from({ length: CONNECTIONS_MAX + 10 }, () => {
      const socket = connect(at.listener.port, "127.0.0.1", () =>
        socket.write("POST /notify HTTP/1.1\r\nhost: a\r\n"),
      );
      // A reset is an end too: `once` of node:events would reject with it.
      return new Promise((resolve) =>
        socket
          .on("error", () => {})
          .resume()
          .on("close", resolve),
      );
    });
    expect(await at.notify()).toBe(200);
    await Promise.all(slow);
    expect(await at.notify()).toBe(200);
  });

  test("shares half of the connections at most with others of its address", async () => {
    const at = await listening();
    let open = 0;
    for (let i = 0; i < CONNECTIONS_MAX; i++) {
      const socket = connect(at.listener.port, "127.0.0.1", () => open++);
      socket.on("error", () => {}).on("close", () => open--);
      onTestFinished(() => void socket.destroy());
    }
    await expect.poll(() => open).toBe(CONNECTIONS_OF_SOURCE_MAX);
  });

  test("that is junk is not counted, however many come", async () => {
    const { sendOften, notify } = await listening();
    const answers = await sendOften(MESSAGES_PER_MINUTE_MAX + 1, "xml=1");
    expect(answers.filter((status) => status !== 403)).toEqual([]);
    expect(await notify()).toBe(200);
  });

  test("that is genuine beyond the allowed rate is put off, so that it comes again", async () => {
    const { rig, formOf, sendOften, notify } = await listening();
    const answers = await sendOften(MESSAGES_PER_MINUTE_MAX, formOf());
    expect(answers.filter((status) => status !== 200)).toEqual([]);
    expect(await notify()).toBe(503);
    expect(await notify({}, md5("forged"))).toBe(403);
    await rig.clock.advance(1_000);
    expect(await notify()).toBe(200);
  });

  test("that is refused is logged at once, then once a minute with the number", async () => {
    const { rig, notify } = await listening();
    const warned = () =>
      rig.lines.filter(({ msg }) => /refused/.test(String(msg))).map(({ count }) => count);
    for (let i = 0; i < 50; i++) await notify({}, md5("forged"));
    expect(warned()).toEqual([1]);
    await rig.clock.advance(60_000);
    await notify({}, md5("forged"));
    expect(warned()).toEqual([1, 50]);
  });

  test("in pieces of one byte takes no more memory than its bytes", async () => {
    const { listener, notify } = await listening();
    const socket = connect(listener.port, "127.0.0.1").on("error", () => {});
    onTestFinished(() => void socket.destroy());
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
    const before = heapInUse();
    const sent = Promise.withResolvers<void>();
    socket.write("1\r\nx\r\n".repeat(60_000), () => sent.resolve());
    await sent.promise;
    expect(await notify()).toBe(200);
    expect(heapInUse() - before).toBeLessThan(4 * 1024 * 1024);
  });

  test("that cannot be stored is answered 500, so that the gateway repeats it", async () => {
    const { rig, notify } = await listening();
    rig.database.exec("DROP TABLE notifications");
    expect(await notify()).toBe(500);
  });
});

describe("the fraud event", () => {
  const data = {
    id: 155_227_950_169,
    merchant_order_id: "A-1",
    amount: "8.99",
    currency: "EUR",
    order: {},
    operations: [{ type: "CAPTURE", date_fraud_by_acquirer: "2026-07-08T00:00:00+02:00" }],
    fraud_reported_by_acquirer: true,
  };
  const event = {
    event_key: "operation.fraud_reported_by_acquirer",
    data,
    sent_date: "2026-07-08T08:02:45+02:00",
  };

  test("marks the order, with an alarm, once", async () => {
    const { rig, fraud, history } = await listening();
    expect([await fraud(event), await fraud(event)]).toEqual([200, 200]);
    expect(history()).toMatchObject({ fraudReported: true, state: "unknown" });
    expect(rig.alarms()).toEqual(["chargeback-or-fraud"]);
  });

  test("is alarmed with a card number masked that stands for its order", async () => {
    const { rig, fraud } = await listening();
    expect(await fraud({ ...data, merchant_order_id: "5500005555555559" })).toBe(200);
    expect(rig.database.prepare("SELECT order_id FROM alarms").all()).toMatchObject([
      { order_id: "550000XXXXXX5559" },
    ]);
  });

  test("is taken without its wrapper too", async () => {
    const { fraud, history } = await listening();
    expect(await fraud(data)).toBe(200);
    expect(history().fraudReported).toBe(true);
  });

  test("is refused with a wrong signature, without one, and without a secret of ours", async () => {
    const { fraud, send, history } = await listening();
    expect(await fraud(event, "another")).toBe(403);
    const json = { path: "/fraud", type: "application/json" };
    expect(await send(JSON.stringify(event), json)).toBe(403);
    expect(await send(JSON.stringify(event), { ...json, signature: "0".repeat(64) })).toBe(403);
    expect(history().fraudReported).toBe(false);
    const deaf = await listening({ fraudSecret: undefined });
    expect(await deaf.fraud(event)).toBe(403);
  });

  test("about another amount, or something else, is refused", async () => {
    const { rig, fraud } = await listening();
    expect(await fraud({ ...event, data: { ...data, amount: "9.99" } })).toBe(403);
    expect(rig.alarms()).toEqual(["notification-mismatch"]);
    expect(await fraud({ ...event, event_key: "operation.other" })).toBe(403);
    expect(await fraud({ ...data, fraud_reported_by_acquirer: false })).toBe(403);
  });

  const vectors = process.env["CONFORMANCE_VECTORS"];
  test.skipIf(!vectors)("as published, without an order, is kept and raises an alarm", async () => {
    const { rig, fraud } = await listening();
    const file = join(vectors ?? "", "gateway/webhook/fraud-published-data.json");
    expect(await fraud(JSON.parse(readFileSync(file, "utf8")))).toBe(200);
    expect(rig.alarms()).toEqual(["chargeback-or-fraud"]);
  });

  test("of a lost order is alarmed, put off, and counts when it comes again", async () => {
    const { rig, fraud } = await listening();
    rig.losses.note("put back");
    const lost = { ...event, data: { ...data, merchant_order_id: "A-2" } };
    expect([await fraud(lost), await fraud(lost)]).toEqual([503, 503]);
    expect(rig.alarms()).toEqual(["outbox-lost", "chargeback-or-fraud"]);
    rig.handOver("A-2");
    expect(await fraud(lost)).toBe(200);
    expect(gatewayHistoryOf("A-2", rig.operationStore).fraudReported).toBe(true);
    expect(await fraud({ ...event, data: { ...data, merchant_order_id: undefined } })).toBe(200);
  });
});
