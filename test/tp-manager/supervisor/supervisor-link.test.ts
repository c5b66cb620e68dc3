import { expect, test } from "vitest";
import { IpcError } from "../../../src/shared/ipc/client.ts";
import { SupervisorLink } from "../../../src/tp-manager/supervisor/supervisor-link.ts";

const transactionId = "0b8f6c1e-9d0a-4a55-8b1e-2f4d9a1c7e55";

test("each message waits as long as its answer may take", async () => {
  const limits: number[] = [];
  const call = (_name: string, _request: unknown, limitMs: number): Promise<never> => {
    limits.push(limitMs);
    return Promise.reject(new IpcError("no-answer", "too late"));
  };
  const link = new SupervisorLink(call, 30_000);
  await Promise.allSettled([
    link.call("outbox-list", { limit: 1 }),
    link.call("transaction-delivery", { transactionId, waitMs: 0 }),
    link.call("transaction-delivery", { transactionId, waitMs: 4_000 }),
    link.call("gateway-operation-end", { operationId: transactionId }),
    link.call("gateway-lookup", { id: "A-1" }),
    link.call("gateway-history", { orderId: "A-1" }),
    link.call("status", {}),
  ]);
  expect(limits).toEqual([5_000, 500, 4_500, 35_000, 65_000, 1_000, 1_000]);
});

test.each([
  [new IpcError("unreachable", "was never started"), { code: "SUPERVISOR_UNAVAILABLE" }],
  [new TypeError("a defect"), { name: "TypeError" }],
])("what failed is reported to callers as %s", async (failure, reported) => {
  const link = new SupervisorLink(() => Promise.reject(failure), 1_000);
  await expect(link.call("status", {})).rejects.toBe(failure);
  await expect(link.ask("status", {})).rejects.toMatchObject(reported);
});

test.each([
  ["unreachable", undefined, undefined],
  ["refused", 400, undefined],
  ["refused", 404, undefined],
  ["refused", 413, undefined],
  ["refused", 503, undefined],
  ["refused", 500, true],
  ["refused", 200, true],
  ["no-answer", undefined, true],
] as const)("an operator's message that failed (%s, %s) may be done: %s", async (...given) => {
  const [failure, status, mayBeDone] = given;
  const error = new IpcError(failure, "failed", status === undefined ? {} : { status });
  const link = new SupervisorLink(() => Promise.reject(error), 1_000);
  const asked = link.ask("outbox-requeue", { transactionId });
  const thrown = (await asked.catch((one: unknown) => one)) as { mayBeDone?: true };
  expect(thrown).toMatchObject({ code: "SUPERVISOR_UNAVAILABLE" });
  expect(thrown.mayBeDone || undefined).toBe(mayBeDone);
});
