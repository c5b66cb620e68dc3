import { once } from "node:events";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase, transaction } from "../../src/shared/store/sqlite.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { startGatewaySandbox } from "../../src/simulator/gateway/sandbox.ts";
import { WINDOW_MAX } from "../../src/supervisor/outbox/queue-window.ts";
import { supervisorMigrations } from "../../src/supervisor/supervisor-schema.ts";
import { PATIENCE_MS, TEST_LIMIT_MS } from "../support/clocks/patience.ts";
import { newStore } from "../support/files/new-store.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { isWhole } from "../support/run/scope.ts";
import { OutboxWithTries } from "./outbox-with-tries.ts";
import { accepted, RecordingGateway } from "./recording-gateway.ts";
import { fullTransaction, sampleTransaction } from "./sample-transaction.ts";
import { SupervisorProcess, writeConfig } from "./supervisor-process.ts";
import { PASSWORD } from "./supervisor-rig.ts";

/** Opens the store of a data folder whose supervisor is stopped, or runs and is only observed. */
function storeOf(data: string): OutboxWithTries {
  const database = openDatabase(join(data, "supervisor.db"), supervisorMigrations);
  onTestFinished(() => database.close());
  return new OutboxWithTries(database);
}

const sentBy = async (supervisor: SupervisorProcess): Promise<number> =>
  (await supervisor.call("status", {}, PATIENCE_MS)).outbox.sent;

async function untilSent(supervisor: SupervisorProcess, sent: number) {
  await expect
    .poll(async () => (await supervisor.call("status", {}, PATIENCE_MS)).outbox, {
      timeout: TEST_LIMIT_MS,
      interval: 50,
    })
    .toMatchObject({ sent, pending: 0 });
}

const jumpingClock = ["--import", join(import.meta.dirname, "../support/clocks/jumping-clock.ts")];

/** Orders that a lookup has shown absent: each is looked up again a minute later, and then sent. */
const absent = (supervisor: SupervisorProcess): number =>
  supervisor.log().split('"found":"absent","next":"look-up"').length - 1;

test("the program stores, sends, answers and stops when it is asked to", async () => {
  const gateway = await RecordingGateway.start();
  const data = join(temporaryFolder(), "data");
  writeConfig(data, gateway.url);
  const supervisor = new SupervisorProcess(data);
  await supervisor.ready();
  const { transactionId, ...rest } = fullTransaction();
  await supervisor.call(
    "store-transaction",
    { transaction: { transactionId, ...rest } },
    PATIENCE_MS,
  );
  const delivery = { transactionId, waitMs: 60_000 };
  expect(await supervisor.call("transaction-delivery", delivery, 2 * PATIENCE_MS)).toEqual({
    known: true,
    state: "sent",
    sent: true,
  });
  expect(await supervisor.call("stop", {}, PATIENCE_MS)).toEqual({ stopping: true });
  expect(await supervisor.ended()).toBe(0);
  expect(supervisor.log()).toContain("supervisor has stopped");
});

test("a supervisor sends an order without the soap package", async () => {
  const gateway = await RecordingGateway.start();
  const data = join(temporaryFolder(), "data");
  writeConfig(data, gateway.url);
  const hook = `
    import { writeSync } from "node:fs";
    import { registerHooks } from "node:module";
    registerHooks({
      resolve(specifier, context, next) {
        if (["soap", "pino"].includes(specifier)) writeSync(2, "loads " + specifier);
        return next(specifier, context);
      },
    });`;
  const module = `data:text/javascript,${encodeURIComponent(hook)}`;
  // A bundle has the packages in it, and names none that it loads.
  const sources = join(projectRoot, "src/supervisor/main.ts");
  const supervisor = new SupervisorProcess(data, ["--import", module], sources);
  await supervisor.ready();
  const stored = { transaction: sampleTransaction({ orderId: "a" }) };
  await supervisor.call("store-transaction", stored, PATIENCE_MS);
  await untilSent(supervisor, 1);
  expect(supervisor.output).toContain("loads pino");
  expect(supervisor.output).not.toContain("loads soap");
});

test("a supervisor killed between storing and sending sends after its next start", async () => {
  const gateway = await RecordingGateway.start();
  const port = Number(new URL(gateway.url).port);
  const data = join(temporaryFolder(), "data");
  writeConfig(data, gateway.url);
  await gateway.stop();
  const before = new SupervisorProcess(data);
  await before.ready();
  for (const orderId of ["a", "b", "c"]) {
    const stored = { transaction: sampleTransaction({ orderId }) };
    await before.call("store-transaction", stored, PATIENCE_MS);
  }
  await before.kill();

  const back = await RecordingGateway.start(port);
  const after = new SupervisorProcess(data, jumpingClock);
  await after.ready();
  // None, some or all of them were on their way when the process died.
  await expect
    .poll(async () => (await sentBy(after)) + absent(after), { timeout: TEST_LIMIT_MS })
    .toBe(3);
  after.signal("SIGUSR2");
  await untilSent(after, 3);
  expect(new Set(back.references)).toEqual(new Set(["a", "b", "c"]));
});

test("a supervisor killed while the gateway works marks the try and sends again", async () => {
  const gateway = await RecordingGateway.start();
  gateway.behave = () => "hang";
  const data = join(temporaryFolder(), "data");
  writeConfig(data, gateway.url);
  const before = new SupervisorProcess(data);
  await before.ready();
  const stored = sampleTransaction({ orderId: "a" });
  await before.call("store-transaction", { transaction: stored }, PATIENCE_MS);
  await expect.poll(() => gateway.references).toEqual(["a"]);
  await before.kill();

  gateway.behave = () => accepted;
  const after = new SupervisorProcess(data, jumpingClock);
  await after.ready();
  await expect.poll(() => absent(after), { timeout: TEST_LIMIT_MS }).toBe(1);
  expect(gateway.references).toEqual(["a"]);
  after.signal("SIGUSR2");
  await untilSent(after, 1);
  expect(gateway.references).toEqual(["a", "a"]);
  await after.ended("SIGTERM");
  const store = storeOf(data);
  expect(store.attempts(stored.transactionId)).toMatchObject([
    { class: "interrupted", ambiguous: true },
    { class: "sent", ambiguous: false },
  ]);
  expect(store.delivery(stored.transactionId)?.ambiguous).toBe(true);
});

test("an ordered stop does not wait for a caller that waits for a delivery", async () => {
  const gateway = await RecordingGateway.start();
  gateway.behave = () => "hang";
  const data = join(temporaryFolder(), "data");
  writeConfig(data, gateway.url);
  const supervisor = new SupervisorProcess(data);
  await supervisor.ready();
  const stored = sampleTransaction();
  await supervisor.call("store-transaction", { transaction: stored }, PATIENCE_MS);
  const { transactionId } = stored;
  const waiting = supervisor.call(
    "transaction-delivery",
    { transactionId, waitMs: 60_000 },
    60_000 + PATIENCE_MS,
  );
  await expect.poll(() => gateway.requests).toHaveLength(1);
  const ended = supervisor.ended("SIGTERM");
  expect(await waiting).toEqual({ known: true, state: "pending", sent: false });
  expect(await ended).toBe(0);
  expect(storeOf(data).attempts(transactionId)).toMatchObject([{ class: "interrupted" }]);
});

test("a setup file without gateway ends the program with 78 and all reasons", async () => {
  const data = join(temporaryFolder(), "data");
  writeConfig(data, "", { GATEWAY_LOGIN: "" });
  const supervisor = new SupervisorProcess(data);
  expect(await supervisor.ended()).toBe(78);
  expect(supervisor.output).toMatch(/GATEWAY_URL is missing/);
  expect(supervisor.output).toMatch(/GATEWAY_LOGIN is missing/);
});

test("a second supervisor on the same data ends with 75", async () => {
  const gateway = await RecordingGateway.start();
  const data = join(temporaryFolder(), "data");
  writeConfig(data, gateway.url);
  await new SupervisorProcess(data).ready();
  expect(await new SupervisorProcess(data).ended()).toBe(75);
});

test("the sandbox takes a full order with every field; no secret is left on disk", async () => {
  const sandbox = await startGatewaySandbox({
    accounts: [
      {
        login: "login",
        password: PASSWORD,
        websites: [{ id: 107, currency: "EUR", categories: [{ id: 5, label: "Vending" }] }],
      },
    ],
    database: ":memory:",
  });
  onTestFinished(() => sandbox.close());
  const data = join(temporaryFolder(), "data");
  writeConfig(data, sandbox.url);
  const supervisor = new SupervisorProcess(data);
  await supervisor.ready();
  const given = fullTransaction();
  await supervisor.call("store-transaction", { transaction: given }, PATIENCE_MS);
  await untilSent(supervisor, 1);
  await supervisor.ended("SIGTERM");
  expect(sandbox.orders()).toMatchObject([
    {
      merchantReference: given.orderId,
      amount: "8.99",
      currency: "EUR",
      freeData: {
        transactionId: given.transactionId,
        maskedPan: given.maskedPan,
        terminalId: "29001234",
        custom_machine: "north & <south>",
        customData: '{"slot number":7}',
        cart: JSON.stringify(given.cart),
      },
    },
  ]);
  expect(filesBelow(data).map((path) => path.slice(data.length + 1))).toContain("supervisor.db");
  for (const path of filesBelow(data)) {
    if (path.endsWith("config.txt") || !statSync(path).isFile()) continue;
    expect(readFileSync(path, "latin1"), path).not.toContain(PASSWORD);
  }
});

function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" }).map((name) =>
    join(directory, name),
  );
}

/** Elsewhere than in the whole scope fewer and larger ones, together as many bytes. */
const QUEUED = isWhole ? 10_000 : 1_250;
const TEXT_BYTES = 90_000_000 / QUEUED;
const HEAP_MB = 64;

test("many transactions, larger than the heap, are drained oldest first", async () => {
  const gateway = await RecordingGateway.start();
  const order: number[] = [];
  gateway.behave = ({ reference }) => {
    order.push(Number(reference));
    gateway.requests.length = 0; // this side has to stay small too
    return accepted;
  };
  const data = join(temporaryFolder(), "data");
  writeConfig(data, gateway.url);
  const database = openDatabase(join(data, "supervisor.db"), supervisorMigrations);
  const text = "x".repeat(TEXT_BYTES);
  transaction(database, () => {
    const content = database.prepare(`INSERT INTO transactions VALUES (?, ?, ?, ?)`);
    const item = database.prepare(`INSERT INTO outbox
      (transaction_id, queued_at_ms, next_try_at_ms, delayed_at_ms) VALUES (?1, ?2, ?2, ?2)`);
    for (let i = 0; i < QUEUED; i++) {
      const given = sampleTransaction({ orderId: String(i), customData: { text } });
      content.run(given.transactionId, given.orderId, i, JSON.stringify(given));
      item.run(given.transactionId, i);
    }
  });
  database.close();
  expect(statSync(join(data, "supervisor.db")).size).toBeGreaterThan(HEAP_MB * 1024 * 1024);

  // With the small semi-spaces the limit is a limit, and not a reason to collect all the time.
  const limits = [`--max-old-space-size=${HEAP_MB}`, "--max-semi-space-size=4"];
  const supervisor = new SupervisorProcess(data, limits);
  await supervisor.ready();
  await untilSent(supervisor, QUEUED);
  expect(order.toSorted((a, b) => a - b)).toEqual(Array.from({ length: QUEUED }, (_, i) => i));
  // An order is begun when all earlier ones have been answered, except WINDOW_MAX - 1 of them.
  let inOrder = 0;
  const ahead = new Set<number>();
  for (const number of order) {
    ahead.add(number);
    while (ahead.delete(inOrder)) inOrder += 1;
    const missing = Math.max(inOrder - 1, ...ahead) + 1 - inOrder - ahead.size;
    expect(missing).toBeLessThan(WINDOW_MAX);
  }
  // The first ones go one by one: a gateway just back meets a single try.
  expect(order.slice(0, 8)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

test("a start that fails sends nothing, so that no try of it is interrupted", async () => {
  const gateway = await RecordingGateway.start();
  const data = join(temporaryFolder(), "data");
  const taken = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void taken.close());
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  writeConfig(data, gateway.url, { NOTIFICATION_PORT: String(port) });
  newStore(join(data, "supervisor.db"), supervisorMigrations);
  const transaction = sampleTransaction();
  storeOf(data).add(transaction, Date.now());
  expect(await new SupervisorProcess(data).ended()).toBe(78);
  expect(storeOf(data).claim("due", Date.now())).toMatchObject({ number: 1 });
  expect(gateway.requests).toEqual([]);
});
