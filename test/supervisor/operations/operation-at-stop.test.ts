import { describe, expect, test } from "vitest";
import { newId } from "../../../src/shared/new-id.ts";
import { OperationStore } from "../../../src/supervisor/operations/operation-store.ts";
import { type Behaviour, operationBody } from "../recording-gateway.ts";
import { openRig } from "../supervisor-rig.ts";

const ID = "5CF62325CB217655";

const cancel = (transactionPublicId = ID) => ({
  operationId: newId(),
  kind: "cancel" as const,
  transactionPublicId,
  amountMinor: null,
  currency: "EUR",
  exponent: 2,
});

const ok = (more = {}): Behaviour => ({
  status: 200,
  body: operationBody("cancel", 0, "N/A", more),
});

describe("an operation that begins during the stop", () => {
  test("is waited for like the one that was running", async () => {
    const rig = await openRig();
    const [first, second] = [
      Promise.withResolvers<Behaviour>(),
      Promise.withResolvers<Behaviour>(),
    ];
    rig.server.behave = ({ body }) => (body.includes(ID) ? first.promise : second.promise);
    const running = rig.operations.operate(cancel());
    let hasStopped = false;
    const stopped = rig.operations.stop(1_000).then(() => {
      hasStopped = true;
    });
    const other = "5CF62325CB217656";
    const late = rig.operations.operate(cancel(other));
    await expect.poll(() => rig.server.requests).toHaveLength(2);
    first.resolve(ok());
    expect((await running).operation?.state).toBe("done");
    await rig.clock.advance(0);
    expect(hasStopped).toBe(false);
    second.resolve(ok({ transactionPublicId: other }));
    expect((await late).operation?.state).toBe("done");
    await stopped;
  });

  test("after the running ones have ended is recorded and not sent", async () => {
    const rig = await openRig();
    rig.server.behave = () => ok();
    await rig.operations.stop(1_000);
    const request = cancel();
    expect((await rig.operations.operate(request)).operation?.state).toBe("not-sent");
    const onDisk = new OperationStore(rig.database).operation(request.operationId);
    expect([onDisk?.state, rig.server.requests]).toEqual(["not-sent", []]);
    expect(rig.alarms()).toEqual([]);
  });
});
