import { expect, test } from "vitest";
import { accepted, refusedCredentials, refusedOrder } from "../../supervisor/recording-gateway.ts";
import { pay, request } from "../../support/house/payment-house.ts";
import { apiWithSupervisor } from "./api-with-supervisor.ts";

const operator = { login: "operator", password: "maintenance" };

test("GET /outbox lists what waits, oldest first, with why it waits", async () => {
  const { rig, call } = await apiWithSupervisor();
  rig.server.behave = () => refusedOrder;
  const parked = rig.handOver("A-1");
  await rig.tries(parked, 1);
  rig.server.behave = () => accepted;
  const sent = rig.handOver("A-2");
  await rig.tries(sent, 1);
  const { http, body } = await call("GET", "/outbox");
  expect([http, body.length]).toEqual([200, 2]);
  expect(body[0]).toMatchObject({
    transactionId: parked,
    orderId: "A-1",
    state: "parked",
    amount: 8.99,
    currency: "EUR",
    tries: 1,
    ambiguous: false,
    nextTryAt: null,
    lastTry: { class: "order-refused", httpStatus: 200, code: 3, description: "amount invalid" },
  });
  expect(body[0].reason).toContain("amount invalid");
  expect(body[1]).toMatchObject({ orderId: "A-2", state: "sent", lastTry: { code: 0 } });
  expect(JSON.stringify(body)).not.toContain("index/ws/id"); // can be paid
  const { body: filtered } = await call("GET", "/outbox?state=parked");
  expect(filtered.map(({ orderId }) => orderId)).toEqual(["A-1"]);
});

test("GET /outbox comes in pages", async () => {
  const { rig, call } = await apiWithSupervisor();
  for (const orderId of ["A", "B", "C", "D", "E"]) rig.handOver(orderId);
  const listed: string[] = [];
  let cursor: unknown;
  let pages = 0;
  do {
    const query = cursor === undefined ? "" : `&cursor=${cursor}`;
    const { headers, body } = await call("GET", `/outbox?limit=2${query}`);
    listed.push(...body.map(({ orderId }) => orderId));
    cursor = headers["next-cursor"];
    pages += 1;
  } while (cursor !== undefined);
  expect([listed, pages]).toEqual([["A", "B", "C", "D", "E"], 3]);
});

test.each([
  ["state=lost", "state"],
  ["limit=0", "limit"],
  ["limit=201", "limit"],
  ["cursor=x", "cursor"],
  ["page=2", "page"],
])("GET /outbox?%s is refused and names the field", async (query, field) => {
  const { call } = await apiWithSupervisor();
  const { http, one } = await call("GET", `/outbox?${query}`);
  expect([http, one.error.details.faults[0].field]).toEqual([400, field]);
});

test("a parked transaction that is requeued is sent again at once", async () => {
  const { rig, call } = await apiWithSupervisor();
  rig.server.behave = () => refusedOrder;
  const id = rig.handOver("A-1");
  await rig.tries(id, 1);
  rig.server.behave = () => accepted;
  const { http, one } = await call("POST", `/outbox/${id}/requeue`);
  expect([http, one.status, one.transactionId]).toEqual([200, "Success", id]);
  expect(await rig.tries(id, 2)).toEqual(["order-refused", "sent"]);
  expect(rig.server.references).toEqual(["A-1", "A-1"]);
});

test("a requeue ends the pause after the credentials were corrected at the gateway", async () => {
  const { rig, call } = await apiWithSupervisor();
  rig.forwarder.start();
  rig.server.behave = () => refusedCredentials;
  const first = rig.handOver("A-1");
  await rig.tries(first, 1);
  const second = rig.handOver("A-2");
  expect(rig.forwarder.paused).not.toBeNull();
  rig.server.behave = () => accepted;
  await call("POST", `/outbox/${first}/requeue`);
  await rig.drained();
  expect(rig.forwarder.paused).toBeNull();
  expect(rig.store.delivery(second)?.state).toBe("sent");
});

test("a requeue while the credentials are still refused pauses again", async () => {
  const { rig, call } = await apiWithSupervisor();
  rig.server.behave = () => refusedCredentials;
  const id = rig.handOver("A-1");
  await rig.tries(id, 1);
  await call("POST", `/outbox/${id}/requeue`);
  await rig.tries(id, 2);
  expect(rig.forwarder.paused).toContain("GATEWAY_PWD");
  expect(rig.store.delivery(id)?.state).toBe("pending");
});

test("a dropped transaction is closed with its note and can be requeued", async () => {
  const { rig, call } = await apiWithSupervisor();
  rig.server.behave = () => refusedOrder;
  const id = rig.handOver("A-1");
  await rig.tries(id, 1);
  rig.server.behave = () => accepted;
  const note = { note: "booked by hand" };
  expect((await call("POST", `/outbox/${id}/drop`, note)).http).toBe(200);
  expect((await call("POST", `/outbox/${id}/drop`, note)).http).toBe(200);
  const { one } = await call("GET", "/outbox?state=closed");
  expect(one).toMatchObject({ transactionId: id, nextTryAt: null });
  expect(one.reason).toContain("booked by hand");
  expect(rig.store.counts()).toMatchObject({ parked: 0, closed: 1 });
  await rig.clock.advance(3_600_000);
  expect(rig.server.requests).toHaveLength(1);
  await call("POST", `/outbox/${id}/requeue`);
  expect((await rig.tries(id, 2)).at(-1)).toBe("sent");
});

test("a sent or reversed transaction is neither sent again nor dropped", async () => {
  const { rig, call } = await apiWithSupervisor();
  const sent = rig.handOver("A-1");
  await rig.tries(sent, 1);
  rig.server.behave = () => refusedOrder;
  const reversed = rig.handOver("A-2");
  await rig.tries(reversed, 1);
  rig.store.withdraw(JSON.parse(rig.store.content(reversed) ?? ""), rig.clock.now());
  for (const [id, state] of [
    [sent, "sent"],
    [reversed, "closed"],
  ] as const) {
    for (const [path, body] of [
      [`/outbox/${id}/requeue`, undefined],
      [`/outbox/${id}/drop`, { note: "x" }],
    ] as const) {
      const { http, one } = await call("POST", path, body);
      expect([http, one.error.code, one.error.details.state]).toEqual([
        409,
        "OUTBOX_ITEM_SETTLED",
        state,
      ]);
    }
  }
  expect(rig.server.requests).toHaveLength(2);
});

test("a transaction on its way can be neither dropped nor requeued", async () => {
  const { rig, call } = await apiWithSupervisor();
  rig.server.behave = () => "hang";
  const id = rig.handOver("A-1");
  const { http, one } = await call("POST", `/outbox/${id}/drop`, { note: "x" });
  expect([http, one.error.code]).toEqual([409, "OUTBOX_ITEM_BUSY"]);
  expect((await call("POST", `/outbox/${id}/requeue`)).one.error.code).toBe("OUTBOX_ITEM_BUSY");
  expect(rig.store.delivery(id)?.state).toBe("pending");
});

test("an unknown transaction, a missing note and a card number in it are refused", async () => {
  const { call } = await apiWithSupervisor();
  const unknown = await call("POST", "/outbox/no-such-id/requeue");
  expect([unknown.http, unknown.one.error.code]).toEqual([404, "OUTBOX_ITEM_NOT_FOUND"]);
  expect((await call("POST", "/outbox/x/drop", {})).one.error.code).toBe("REQUEST_INVALID");
  const card = await call("POST", "/outbox/x/drop", { note: "card 4111 1111 1111 1111" });
  expect(card.one.error.code).toBe("CARD_DATA_REFUSED");
});

test("with an operator's pair the kiosk's pair may not read the outbox", async () => {
  const { call, kiosk } = await apiWithSupervisor({ operator });
  for (const [method, path] of [
    ["GET", "/outbox"],
    ["POST", "/outbox/x/requeue"],
    ["POST", "/outbox/x/drop"],
  ] as const) {
    const { http, one } = await call(method, path, undefined, kiosk);
    expect([path, http, one.error.code]).toEqual([path, 403, "OPERATOR_REQUIRED"]);
  }
  expect((await call("GET", "/outbox")).http).toBe(200);
});

test("GET /outbox without a supervisor is answered SUPERVISOR_UNAVAILABLE", async () => {
  const { call, stopSupervisor } = await apiWithSupervisor();
  await stopSupervisor();
  const { http, one } = await call("GET", "/outbox");
  expect([http, one.error.code, one.error.charged]).toEqual([
    503,
    "SUPERVISOR_UNAVAILABLE",
    "unknown",
  ]);
});

test("a transaction that the supervisor refuses is listed and dropped here as well", async () => {
  const { at, call, stopSupervisor } = await apiWithSupervisor();
  await pay(at, request("A-1"));
  await at.clock.advance(6_000);
  const id = at.journal.attempts.decisive("A-1")?.transactionId ?? "";
  at.journal.database.exec("UPDATE hand_off SET acknowledged = 0");
  at.journal.handOffs.noteRefusal(id, "no", at.clock.now());
  await stopSupervisor();
  const { http, one } = await call("GET", "/outbox?state=refused");
  expect([http, one.transactionId, one.state]).toEqual([200, id, "refused"]);
  expect(one).toMatchObject({
    orderId: "A-1",
    amount: 9.99,
    reason: "the supervisor refuses the transaction: no",
  });
  const dropped = await call("POST", `/outbox/${id}/drop`, { note: "booked by hand" });
  expect([dropped.http, dropped.one.transactionId]).toEqual([200, id]);
  expect((await call("GET", "/outbox?state=refused")).body).toEqual([]);
  expect((await call("POST", `/outbox/${id}/requeue`)).http).toBe(200);
});

test("an order's timeline shows each try to send and each decision of a person", async () => {
  const { at, rig, call } = await apiWithSupervisor();
  await pay(at, request("A-1"));
  rig.server.behave = () => refusedOrder;
  const id = rig.handOver("A-1");
  await rig.tries(id, 1);
  rig.server.behave = () => accepted;
  await rig.clock.advance(1);
  await call("POST", `/outbox/${id}/requeue`);
  await rig.tries(id, 2);
  const { one } = await call("GET", "/story/A-1");
  const steps = one.gateway.sending.map(
    ({ at: _, class: __, ...step }: object & StepTimes) => step,
  );
  const nobody = { number: null, outcome: null, by: null };
  expect(steps).toEqual([
    { ...nobody, step: "queued", description: "" },
    { ...nobody, step: "try", number: 1, outcome: "not-taken", description: "amount invalid" },
    { ...nobody, step: "parked", description: expect.stringContaining("amount invalid") },
    { ...nobody, step: "requeue", by: "API (kiosk)", description: "" },
    { ...nobody, step: "try", number: 2, outcome: "taken", description: "N/A" },
  ]);
});

interface StepTimes {
  readonly at: string;
  readonly class: string | null;
}
