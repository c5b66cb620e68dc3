import { describe, expect, test } from "vitest";
import { newId } from "../../../src/shared/new-id.ts";
import { operationBody } from "../recording-gateway.ts";
import { openRig } from "../supervisor-rig.ts";

const ID = "5CF62325CB217655";

describe("an operation whose end could not be written is unknown", () => {
  const unwritten = async (fullForMs = 0) => {
    const rig = await openRig();
    rig.server.behave = () => ({ status: 200, body: operationBody("card", 0) });
    rig.database.exec(`CREATE TEMP TRIGGER full BEFORE UPDATE ON gateway_operations BEGIN
      SELECT RAISE(FAIL, 'database or disk is full'); END`);
    const what = { kind: "refund", transactionPublicId: ID, amountMinor: null } as const;
    const request = { operationId: newId(), ...what, currency: "EUR", exponent: 2 };
    await expect(rig.operations.operate(request)).rejects.toThrow("disk is full");
    await rig.clock.advance(fullForMs);
    rig.database.exec("DROP TRIGGER full");
    return { ...rig, request };
  };

  test("as soon as a client asks for it", async () => {
    const { operations, operationStore, alarms, server, request } = await unwritten();
    const { operation } = await operations.end({ operationId: request.operationId });
    expect(operation?.state).toBe("unknown");
    expect(alarms()).toEqual(["gateway-operation-unknown"]);
    expect(operationStore.open(1).operations).toMatchObject([{ kind: "refund" }]);
    const settled = { transactionPublicId: ID, happened: true, note: "found there" };
    expect(operations.settle(settled).operation?.state).toBe("done");
    expect(server.requests).toHaveLength(1);
  });

  test("after the disk stayed full, and is looked up later", async () => {
    const { operationStore, alarms, server, request, clock } = await unwritten(60_000);
    expect(alarms()).toEqual([]);
    await clock.advance(120_000);
    expect(operationStore.operation(request.operationId)?.state).toBe("unknown");
    await expect.poll(() => server.requests.map(({ method }) => method)).toEqual(["POST", "GET"]);
  });

  test("after a minute if nobody asks, and is looked up", async () => {
    const { operationStore, alarms, server, request, clock } = await unwritten();
    await clock.advance(60_000);
    expect(operationStore.operation(request.operationId)?.state).toBe("unknown");
    expect(alarms()).toEqual(["gateway-operation-unknown"]);
    await expect.poll(() => server.requests.map(({ method }) => method)).toEqual(["POST", "GET"]);
  });
});
