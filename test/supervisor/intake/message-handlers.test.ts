import { request } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { createIpcClient } from "../../../src/shared/ipc/client.ts";
import { supervisorMessages } from "../../../src/shared/ipc/contract.ts";
import { addressOf, ipcToken, openRunDirectory } from "../../../src/shared/ipc/run-directory.ts";
import { IPC_TOKEN_HEADER, startIpcServer } from "../../../src/shared/ipc/server.ts";
import { systemClock, within } from "../../../src/shared/time.ts";
import { supervisorHandlers } from "../../../src/supervisor/intake/message-handlers.ts";
import { asSlow, PATIENCE_MS } from "../../support/clocks/patience.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { recordingLog } from "../../support/house/recording-log.ts";
import { accepted, refusedCredentials, refusedOrder } from "../recording-gateway.ts";
import { fullTransaction, sampleTransaction } from "../sample-transaction.ts";
import { openRig } from "../supervisor-rig.ts";

/** A rig that listens on a real local socket, and a client as tp-manager has one. */
async function openMessages() {
  const rig = await openRig();
  const runDirectory = openRunDirectory(temporaryFolder());
  const stops: string[] = [];
  const { log } = recordingLog();
  const server = await startIpcServer({
    runDirectory,
    program: "supervisor",
    messages: supervisorMessages,
    handlers: supervisorHandlers({
      ...rig,
      requestStop: (why) => stops.push(why),
    }),
    log,
  });
  const client = createIpcClient(runDirectory, "supervisor", supervisorMessages, systemClock);
  onTestFinished(async () => {
    rig.watch.close();
    await server.close();
    client.close();
  });
  rig.forwarder.start();

  /** A message as another version might send it. */
  const post = (path: string, body: unknown): Promise<{ status: number; body: unknown }> =>
    new Promise((resolve, reject) => {
      const options = {
        socketPath: addressOf(runDirectory, "supervisor"),
        method: "POST",
        path,
        headers: { [IPC_TOKEN_HEADER]: ipcToken(runDirectory), connection: "close" },
      };
      const message = request(options, (response) => {
        let text = "";
        response.on("data", (chunk) => (text += chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }),
        );
      });
      message.on("error", reject);
      message.end(JSON.stringify(body));
    });

  const call: typeof client.call = (name, given, limitMs) => client.call(name, given, limitMs);
  return { ...rig, call, post, stops, closeServer: () => server.close() };
}

test("store-transaction is answered when the transaction is on disk", async () => {
  const { call, store } = await openMessages();
  const transaction = fullTransaction();
  const answer = await call("store-transaction", { transaction }, PATIENCE_MS);
  expect(answer).toEqual({ stored: true });
  expect(store.content(transaction.transactionId)).toBeDefined();
});

test("store-transaction with a changed content is refused and stays refused", async () => {
  const { call, alarms } = await openMessages();
  const transaction = fullTransaction();
  await call("store-transaction", { transaction }, PATIENCE_MS);
  const changed = { ...transaction, amountMinor: 1 };
  for (let i = 0; i < 2; i++) {
    await expect(
      call("store-transaction", { transaction: changed }, PATIENCE_MS),
    ).rejects.toMatchObject({ failure: "refused" });
  }
  expect(alarms()).toEqual(["transaction-changed", "transaction-changed"]);
});

test("transaction-delivery waits for the first try and answers that it was sent", async () => {
  const { call, handOver } = await openMessages();
  const transactionId = handOver("a");
  const answer = await call("transaction-delivery", { transactionId, waitMs: 60_000 }, PATIENCE_MS);
  expect(answer).toEqual({ known: true, state: "sent", sent: true });
});

test("a stored transaction is known also while the supervisor stops", async () => {
  const { call, handOver, watch, tries } = await openMessages();
  const transactionId = handOver("a");
  await tries(transactionId, 1);
  watch.close();
  const answer = await call("transaction-delivery", { transactionId, waitMs: 60_000 }, PATIENCE_MS);
  expect(answer).toEqual({ known: true, state: "sent", sent: true });
});

test("transaction-delivery ends with a first try that failed", async () => {
  const { call, handOver, server } = await openMessages();
  server.behave = () => ({ status: 503 });
  const transactionId = handOver("a");
  const answer = await call("transaction-delivery", { transactionId, waitMs: 60_000 }, PATIENCE_MS);
  expect(answer).toEqual({ known: true, state: "pending", sent: false });
});

test("transaction-delivery ends when its time is over", async () => {
  const { call, handOver, server, clock } = await openMessages();
  server.behave = () => "hang";
  const transactionId = handOver("a");
  await expect.poll(() => server.requests).toHaveLength(1);
  const answer = call("transaction-delivery", { transactionId, waitMs: 5_000 }, PATIENCE_MS);
  await expect.poll(() => clock.running).toContain("delivery");
  await clock.advance(5_000);
  expect(await answer).toEqual({ known: true, state: "pending", sent: false });
});

test("transaction-delivery does not wait for a transaction that is parked already", async () => {
  const { call, handOver, server, tries } = await openMessages();
  server.behave = () => refusedOrder;
  const transactionId = handOver("a");
  await tries(transactionId, 1);
  const answer = await call("transaction-delivery", { transactionId, waitMs: 60_000 }, PATIENCE_MS);
  expect(answer).toEqual({ known: true, state: "parked", sent: false });
});

test("transaction-delivery does not wait for a paused queue", async () => {
  const { call, handOver, server, tries } = await openMessages();
  server.behave = () => refusedCredentials;
  const first = handOver("a");
  const waiting = call(
    "transaction-delivery",
    { transactionId: first, waitMs: 60_000 },
    PATIENCE_MS,
  );
  expect(await waiting).toEqual({ known: true, state: "pending", sent: false });
  await tries(first, 1);
  const transactionId = handOver("b");
  const answer = await call("transaction-delivery", { transactionId, waitMs: 60_000 }, PATIENCE_MS);
  expect(answer).toEqual({ known: true, state: "pending", sent: false });
  expect(server.requests).toHaveLength(1);
});

test("transaction-delivery of an unknown transaction is answered at once", async () => {
  const { call } = await openMessages();
  const { transactionId } = sampleTransaction();
  const answer = await call("transaction-delivery", { transactionId, waitMs: 60_000 }, PATIENCE_MS);
  expect(answer).toEqual({ known: false, state: null, sent: false });
});

test("several callers that wait for one transaction are all answered", async () => {
  const { call, handOver, server, clock } = await openMessages();
  server.behave = () => "hang";
  const transactionId = handOver("a");
  const waiting = [1, 2, 3].map(() =>
    call("transaction-delivery", { transactionId, waitMs: 60_000 }, PATIENCE_MS),
  );
  const count = () => clock.running.filter((name) => name === "delivery").length;
  await expect.poll(() => count()).toBe(3);
  await clock.advance(30_000);
  for (const answer of await Promise.all(waiting)) expect(answer.state).toBe("pending");
  expect(count()).toBe(0);
});

test("status counts the outbox and shows its age and why it is paused", async () => {
  const { call, handOver, server, tries, clock } = await openMessages();
  await tries(handOver("sent"), 1);
  server.behave = () => refusedOrder;
  await tries(handOver("parked"), 1);
  server.behave = () => refusedCredentials;
  await tries(handOver("waiting"), 1);
  await clock.advance(1_500);
  expect(await call("status", {}, PATIENCE_MS)).toEqual({
    program: "supervisor",
    unwritable: null,
    version: "1.2.3",
    pid: process.pid,
    uptimeMs: 1_500,
    outbox: {
      pending: 1,
      parked: 1,
      sent: 1,
      oldestAgeMs: 1_500,
      oldestAtMs: clock.now() - 1_500,
      parkedSinceMs: clock.now() - 1_500,
      paused: expect.stringMatching(/GATEWAY_LOGIN/),
      pausedSinceMs: clock.now() - 1_500,
      misconfigured: null,
      lookupRefused: null,
      ambiguous: { sends: 0, inDoubt: 0, possibleCopies: 0 },
    },
    operations: { unknown: 0, unknownSinceMs: null },
    notifications: {
      verdicts: {
        accepted: 0,
        repeated: 0,
        mismatch: 0,
        malformed: 0,
        "wrong-digest": 0,
        "wrong-signature": 0,
        unreadable: 0,
        "put-off": 0,
      },
      refused: null,
    },
  });
});

test("status of an empty outbox has no age and no pause", async () => {
  const { call } = await openMessages();
  expect((await call("status", {}, PATIENCE_MS)).outbox).toEqual({
    pending: 0,
    parked: 0,
    sent: 0,
    oldestAgeMs: null,
    oldestAtMs: null,
    parkedSinceMs: null,
    paused: null,
    pausedSinceMs: null,
    misconfigured: null,
    lookupRefused: null,
    ambiguous: { sends: 0, inDoubt: 0, possibleCopies: 0 },
  });
});

test("stop is answered, and stops the program once for each message", async () => {
  const { call, stops } = await openMessages();
  expect(await call("stop", {}, PATIENCE_MS)).toEqual({ stopping: true });
  expect(stops).toEqual(["asked to by another program"]);
});

test("closing waits for no caller: those who wait are answered and let go", async () => {
  const { call, handOver, server, watch, clock, closeServer } = await openMessages();
  server.behave = () => "hang";
  const transactionId = handOver("a");
  const waiting = call("transaction-delivery", { transactionId, waitMs: 60_000 }, PATIENCE_MS);
  await expect.poll(() => clock.running).toContain("delivery");
  watch.close();
  const closed = closeServer().then(() => "closed");
  expect((await waiting).state).toBe("pending");
  // Below the 5 s for which an idle connection is kept open.
  expect(await within(systemClock, "close", asSlow(2_000, 4_500), closed)).toBe("closed");
});

test("a newer sender's further fields are accepted", async () => {
  const { post, store, server } = await openMessages();
  server.behave = () => accepted;
  const transaction = { ...fullTransaction(), loyaltyPoints: 7 };
  const message = { transaction, priority: "high" };
  expect(await post("/v1/store-transaction", message)).toEqual({
    status: 200,
    body: { stored: true },
  });
  expect(store.delivery(transaction.transactionId)).toBeDefined();
});

test("a message of another version or name gets 404 and changes nothing", async () => {
  const { post, store } = await openMessages();
  const message = { transaction: fullTransaction() };
  for (const path of ["/v2/store-transaction", "/v1/outbox-explode", "/v1/constructor", "/"]) {
    expect((await post(path, message)).status).toBe(404);
  }
  expect(store.counts().pending).toBe(0);
});

test.each([
  ["no transaction", {}],
  ["a transaction without amount", { transaction: { ...fullTransaction(), amountMinor: null } }],
  ["a fractional amount", { transaction: { ...fullTransaction(), amountMinor: 8.99 } }],
  ["a transaction id that is none", { transaction: { ...fullTransaction(), transactionId: "1" } }],
  ["text", "transaction"],
])("store-transaction with %s is refused with 400 and stores nothing", async (_what, message) => {
  const { post, store } = await openMessages();
  expect((await post("/v1/store-transaction", message)).status).toBe(400);
  expect(store.counts()).toEqual({ pending: 0, sent: 0, parked: 0, closed: 0 });
});
