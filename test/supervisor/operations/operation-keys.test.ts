import { expect, test } from "vitest";
import { newId } from "../../../src/shared/new-id.ts";
import { operationBody } from "../recording-gateway.ts";
import { openRig } from "../supervisor-rig.ts";

const ID = "5CF62325CB217655";
const key = { idempotencyKey: "k", asked: "this" };
const refund = (more: object = {}) => ({
  operationId: newId(),
  kind: "refund" as const,
  transactionPublicId: ID,
  amountMinor: 400,
  currency: "EUR",
  exponent: 2,
  key,
  ...more,
});
const target = { transactionPublicId: ID };

/** A rig that knows the transaction, on the database in `path`. */
async function rigOf(path?: string) {
  const rig = await openRig(path === undefined ? {} : { path });
  rig.server.behave = () => ({ status: 200, body: operationBody("card", 0, "N/A") });
  return rig;
}

test("a kill between the write-ahead record and the send leaves the refund unknown", async () => {
  const former = await rigOf();
  const asked = refund();
  former.operationStore.begin(asked, former.clock.now(), key);
  await former.stop();
  const rig = await rigOf(former.path);
  const { known } = await rig.operations.ofKey({ idempotencyKey: "k", target });
  expect(known).toMatchObject({ asked: "this", operation: { operationId: asked.operationId } });
  rig.operations.start();
  const after = await rig.operations.ofKey({ idempotencyKey: "k", target });
  expect(after.known?.operation.state).toBe("unknown");
  expect(await rig.operations.operate(refund())).toEqual({ operation: null });
  expect(rig.server.requests).toEqual([]);
});

test("a late message of another process is not carried out with a used key", async () => {
  const rig = await rigOf();
  await rig.operations.operate(refund());
  const late = await rig.operations.operate(refund({ transactionPublicId: "5CF62325CB217656" }));
  expect([late, rig.server.requests.length]).toEqual([{ operation: null }, 1]);
});

test("a question about a key whose operation runs is answered when that has ended", async () => {
  const rig = await rigOf();
  const running = rig.operations.operate(refund());
  const { known } = await rig.operations.ofKey({ idempotencyKey: "k", target });
  expect(known?.operation.state).toBe((await running).operation?.state);
});

test("a refund that may be a repeated one is not sent, unless another one is meant", async () => {
  const rig = await rigOf();
  rig.server.behave = () => ({
    status: 200,
    body: operationBody("card", 0, "N/A", { amount: "4" }),
  });
  const { operation } = await rig.operations.operate(refund());
  expect(operation?.state).toBe("done");
  const more = { key: undefined, unlessRepeated: true };
  expect(await rig.operations.operate(refund(more))).toEqual({
    operation: null,
    repeats: operation,
  });
  const others = [{ amountMinor: 300 }, { transactionPublicId: "5CF62325CB217656" }];
  for (const other of others) {
    expect((await rig.operations.operate(refund({ ...more, ...other }))).repeats).toBeUndefined();
  }
  expect((await rig.operations.operate(refund({ key: undefined }))).repeats).toBeUndefined();
});

test("an operation on an order from after a loss is closed, from before it is open", async () => {
  const rig = await rigOf();
  const before = rig.handOver("before");
  // The clock was ahead, and is set right while the database is lost.
  const askedAtMs = rig.clock.now();
  rig.clock.jumpWallClock(-2 * 60 * 60_000);
  rig.losses.note("put back");
  rig.losses.end();
  const after = rig.handOver("after");
  const end = (transactionId: string, transactionPublicId: string) => {
    rig.operationStore.learnId(transactionPublicId, transactionId, "lookup", rig.clock.now());
    const { operationId, key: _, ...asked } = refund({ transactionPublicId });
    return rig.operations.end({ operationId, asked: { ...asked, askedAtMs } });
  };
  expect(await end(after, "5CF62325CB217656")).toEqual({ operation: null });
  const open = (await end(before, ID)).operation;
  expect(open).toMatchObject({ state: "unknown", class: "lost", amountMinor: 400 });
  expect(rig.alarms()).toContain("gateway-operation-unknown");
});

test("a former process's operation is of the last day until this one has run a day", async () => {
  const former = await rigOf();
  const part = refund({ key: undefined, unlessRepeated: true });
  const { operation } = await former.operations.operate(part);
  await former.operations.settle({ transactionPublicId: ID, happened: true, note: "" });
  await former.stop();
  const rig = await rigOf(former.path);
  rig.clock.jumpWallClock(30 * 60 * 60_000);
  const { operationId } = operation ?? {};
  const again = () => rig.operations.operate({ ...part, operationId: newId() });
  expect((await again()).repeats).toMatchObject({ operationId, state: "done" });
  await rig.clock.advance(24 * 60 * 60_000);
  expect((await again()).repeats).toBeUndefined();
});
