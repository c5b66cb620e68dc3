import { describe, expect, test, vi } from "vitest";
import { IpcError } from "../../../src/shared/ipc/client.ts";
import { GatewayOperations } from "../../../src/tp-manager/supervisor/gateway-operations.ts";
import { SupervisorLink } from "../../../src/tp-manager/supervisor/supervisor-link.ts";
import { chargedAtGateway, stateOf } from "./charged-at-gateway.ts";

type At = Awaited<ReturnType<typeof chargedAtGateway>>;

/** A charged order of 9.99 whose id at the gateway is known. */
async function known() {
  const at = await chargedAtGateway();
  await at.call("GET", `/gateway/transaction/${at.publicId()}`);
  const ask = async (kind: "confirm" | "cancel" | "refund", body: object) => {
    const { http, one, headers } = await at.call("POST", `/gateway/${kind}`, {
      orderId: "A-1",
      ...body,
    });
    return { http, one, headers, answered: [http, one.error?.code ?? one.status] };
  };
  const refund = (body: object) => ask("refund", body);
  const fault = (kind: "reset-before-commit" | "wrong-code" | "not-found-404") =>
    at.sandbox.addFault({ kind, times: 1, operation: "card" });
  return { ...at, ask, refund, fault };
}

const refunded = (at: At) => stateOf(at).map(([, amount]) => amount);

const done = [200, "Success"];
const isOpen = [409, "GATEWAY_OPERATION_OPEN"];
const isRepeated = [409, "REFUND_REPEATED"];
const isUsed = [409, "IDEMPOTENCY_KEY_REUSED"];
const isUnknown = [504, "GATEWAY_OPERATION_UNKNOWN"];

describe("an idempotency key", () => {
  const wrong: ReadonlyArray<readonly [unknown, string]> = [
    ["", "idempotencyKey"],
    ["x".repeat(65), "idempotencyKey"],
    ["a\nb", "idempotencyKey"],
    [7, "idempotencyKey"],
    [null, "idempotencyKey"],
    [["a"], "idempotencyKey"],
  ];
  test.each(wrong)("of the form %j is refused, and nothing is sent", async (key, field) => {
    const at = await known();
    for (const kind of ["confirm", "cancel", "refund"] as const) {
      const { http, one } = await at.ask(kind, { idempotencyKey: key });
      expect([http, one.error.details.faults[0].field]).toEqual([400, field]);
    }
    const card = await at.refund({ idempotencyKey: "4111111111111111" });
    expect(card.answered).toEqual([400, "CARD_DATA_REFUSED"]);
    expect(refunded(at)).toEqual(["0.00"]);
  });

  test("may have 64 characters, and a repetition is marked in a header of the answer", async () => {
    const at = await known();
    const body = { idempotencyKey: "é".repeat(64), amount: 4 };
    const first = await at.refund(body);
    const second = await at.refund({ ...body, amount: 4.0 });
    expect([first.answered, second.one]).toEqual([done, first.one]);
    expect([first, second].map(({ headers }) => headers["idempotent-replay"])).toEqual([
      undefined,
      "true",
    ]);
    expect(refunded(at)).toEqual(["4.00"]);
  });

  test("is for one body, and is refused with any other body", async () => {
    const at = await known();
    const key = { idempotencyKey: "k" };
    expect((await at.refund({ ...key, amount: 4 })).answered).toEqual(done);
    const others = [{}, { amount: 3 }, { amount: 4, again: true }];
    for (const body of others)
      expect((await at.refund({ ...key, ...body })).answered).toEqual(isUsed);
    const byId = { orderId: undefined, transactionPublicId: at.publicId(), amount: 4 };
    expect((await at.refund({ ...key, ...byId })).answered).toEqual(isUsed);
    expect((await at.ask("cancel", key)).answered).toEqual(isUsed);
    expect((await at.ask("confirm", { ...key, amount: 4 })).answered).toEqual(isUsed);
    const another = await at.refund({ ...key, orderId: "B-1", amount: 4 });
    expect([another.answered, another.one.error.charged]).toEqual([isUsed, "unknown"]);
    expect((await at.refund({ ...key, amount: 4, again: false })).answered).toEqual(done);
    expect(refunded(at)).toEqual(["4.00"]);
  });

  test("of several requests at the same moment is sent as one operation", async () => {
    const at = await known();
    const ask = () => at.refund({ idempotencyKey: "k", amount: 4 });
    const answers = await Promise.all([ask(), ask(), ask(), ask()]);
    const [first] = answers;
    expect(answers.map(({ one }) => one)).toEqual([0, 1, 2, 3].map(() => first?.one));
    expect([first?.answered, refunded(at)]).toEqual([done, ["4.00"]]);
  });

  test("of a full refund gets its first answer even after the order is reversed", async () => {
    const at = await known();
    const first = await at.refund({ idempotencyKey: "k" });
    const second = await at.refund({ idempotencyKey: "k" });
    expect([first.answered, second.one]).toEqual([done, first.one]);
    expect((await at.refund({ idempotencyKey: "l" })).answered).toEqual([409, "ORDER_REVERSED"]);
    expect((await at.refund({})).answered).toEqual([409, "ORDER_REVERSED"]);
  });

  test("of a confirm gets the answer of the first confirm", async () => {
    const at = await known();
    const id = at.publicId();
    const body = { orderId: undefined, transactionPublicId: id, idempotencyKey: "k" };
    const first = await at.ask("confirm", body);
    expect(first.answered).toEqual([409, "GATEWAY_REFUSED"]);
    const lower = { ...body, transactionPublicId: id.toLowerCase() };
    expect((await at.ask("confirm", lower)).one).toEqual(first.one);
    expect(at.rig.operationStore.operationsOf([id])).toHaveLength(1);
  });

  test("whose operation was refused keeps that answer, and a new key asks again", async () => {
    const at = await known();
    at.fault("wrong-code");
    const first = await at.refund({ idempotencyKey: "k", amount: 4 });
    expect(first.answered).toEqual([409, "GATEWAY_REFUSED"]);
    expect((await at.refund({ idempotencyKey: "k", amount: 4 })).one).toEqual(first.one);
    expect((await at.refund({ idempotencyKey: "l", amount: 4 })).answered).toEqual(done);
    expect(refunded(at)).toEqual(["4.00"]);
  });

  test("whose operation was not sent is not used up", async () => {
    const at = await known();
    at.fault("not-found-404");
    const ask = () => at.refund({ idempotencyKey: "k", amount: 4 });
    const first = await ask();
    expect([first.answered, first.one.status]).toEqual([[503, "GATEWAY_NOT_SENT"], "Failed"]);
    expect((await at.refund({ idempotencyKey: "k", amount: 3 })).answered).toEqual(isUsed);
    const second = await ask();
    expect([second.answered, (await ask()).one]).toEqual([done, second.one]);
    expect(refunded(at)).toEqual(["4.00"]);
  });

  test("whose answer was lost stays unknown until an operator settles it", async () => {
    const at = await known();
    at.fault("reset-before-commit");
    const ask = () => at.refund({ idempotencyKey: "k", amount: 4 });
    const first = await ask();
    const { status, error } = first.one;
    expect([first.answered, status, error.charged]).toEqual([isUnknown, "Unknown", "yes"]);
    expect((await ask()).one).toEqual(first.one);
    const displayed = (await at.call("GET", "/payment/A-1")).one;
    expect([displayed.status, displayed.warnings.length]).toEqual(["Success", 1]);
    expect((await at.refund({ idempotencyKey: "l", amount: 4 })).answered).toEqual(isOpen);
    const decision = { orderId: "A-1", happened: false, note: "seen" };
    await at.call("POST", "/gateway/settle", decision);
    expect((await ask()).answered).toEqual([409, "GATEWAY_REFUSED"]);
    expect(refunded(at)).toEqual(["0.00"]);
  });

  test("is still known for an order in the archive", async () => {
    const at = await known();
    const ask = () => at.refund({ idempotencyKey: "k", amount: 4 });
    const first = await ask();
    const { handOffs, archive, attempts } = at.at.journal;
    const now = at.at.clock.now();
    handOffs.noteAccepted(at.transactionId, "pending", now);
    handOffs.setDelivery(at.transactionId, "sent", now);
    archive.putAway(now + 1, 100);
    expect(attempts.read(at.transactionId)).toBeUndefined();
    expect((await ask()).one).toEqual(first.one);
    expect((await at.refund({ idempotencyKey: "k" })).answered).toEqual(isUsed);
    expect((await at.refund({ amount: 4 })).answered).toEqual(isRepeated);
    expect(refunded(at)).toEqual(["4.00"]);
  });

  test("makes a call Unknown without a supervisor; a call without a key Failed", async () => {
    const at = await known();
    await at.stopSupervisor();
    const answers = [await at.refund({ idempotencyKey: "k" }), await at.refund({})];
    expect(
      answers.map(({ answered, one }) => [...answered, one.status, one.error.charged]),
    ).toEqual([
      [503, "SUPERVISOR_UNAVAILABLE", "Unknown", "yes"],
      [503, "SUPERVISOR_UNAVAILABLE", "Failed", "yes"],
    ]);
  });
});

describe("a refund that was carried out and cannot be written into the journal", () => {
  const isUnwritten = [503, "STORAGE_FAILED", "Unknown", "yes"];
  const full = () => {
    throw new Error("the disk is full");
  };
  const outcome = ({
    answered,
    one,
  }: Awaited<ReturnType<Awaited<ReturnType<typeof known>>["refund"]>>) => [
    ...answered,
    one.status,
    one.error?.charged,
  ];

  test("is Unknown, also when it is repeated with its key", async () => {
    const at = await known();
    const writes = vi.spyOn(at.at.journal.returns, "endReturn").mockImplementation(full);
    const ask = () => at.refund({ idempotencyKey: "k", amount: 4 });
    expect(outcome(await ask())).toEqual(isUnwritten);
    expect(outcome(await ask())).toEqual(isUnwritten);
    // Another refund was not sent, because the journal does not know yet what the first one did.
    const other = outcome(await at.refund({ amount: 3 }));
    expect(other).toEqual([503, "STORAGE_FAILED", "Failed", "yes"]);
    writes.mockRestore();
    expect((await ask()).answered).toEqual(done);
    expect(refunded(at)).toEqual(["4.00"]);
  });

  test("is Unknown for an order in the archive", async () => {
    const at = await known();
    const { handOffs, archive, returns } = at.at.journal;
    const now = at.at.clock.now();
    handOffs.noteAccepted(at.transactionId, "pending", now);
    handOffs.setDelivery(at.transactionId, "sent", now);
    archive.putAway(now + 1, 100);
    vi.spyOn(returns, "noteReturns").mockImplementation(full);
    expect(outcome(await at.refund({ amount: 4 }))).toEqual(isUnwritten);
    expect(refunded(at)).toEqual(["4.00"]);
  });

  test("is Failed when the gateway refused it, or it cannot be reserved", async () => {
    const at = await known();
    const isFailed = [503, "STORAGE_FAILED", "Failed", "yes"];
    const { returns } = at.at.journal;
    vi.spyOn(returns, "reserveReturn").mockImplementationOnce(full);
    expect(outcome(await at.refund({ amount: 4 }))).toEqual(isFailed);
    at.fault("wrong-code");
    vi.spyOn(returns, "endReturn").mockImplementationOnce(full);
    expect(outcome(await at.refund({ amount: 4 }))).toEqual(isFailed);
    expect(refunded(at)).toEqual(["0.00"]);
  });

  test("is Unknown when a fault of the program follows", async () => {
    const at = await known();
    vi.spyOn(at.rig.log, "info").mockImplementation((...line: readonly unknown[]) => {
      if (line[1] === "a cancel or refund at the gateway ended") throw new TypeError("a fault");
    });
    const answered = outcome(await at.refund({ amount: 4 }));
    expect(answered).toEqual([500, "INTERNAL", "Unknown", "yes"]);
    expect(refunded(at)).toEqual(["4.00"]);
  });

  test("is Unknown when it was settled, and the settlement cannot be written", async () => {
    const at = await known();
    at.fault("reset-before-commit");
    expect((await at.refund({ idempotencyKey: "k", amount: 4 })).answered).toEqual(isUnknown);
    vi.spyOn(at.at.journal.returns, "endReturn").mockImplementationOnce(full);
    const settlement = { orderId: "A-1", happened: false, note: "seen" };
    const { http, one } = await at.call("POST", "/gateway/settle", settlement);
    expect([http, one.error.code, one.status, one.error.charged]).toEqual(isUnwritten);
  });
});

describe("a partial refund without a key", () => {
  test("of a sum refunded in the last day is sent only with again: true", async () => {
    const at = await known();
    expect((await at.refund({ idempotencyKey: "k", amount: 3 })).answered).toEqual(done);
    const repeated = await at.refund({ amount: 3 });
    const { details, charged } = repeated.one.error;
    expect([repeated.answered, charged, details.state]).toEqual([isRepeated, "yes", "done"]);
    expect((await at.refund({ amount: 2 })).answered).toEqual(done);
    expect((await at.refund({ amount: 3, again: true })).answered).toEqual(done);
    // A refund of all that is left cannot be confused with an earlier part.
    expect((await at.refund({})).one.amount).toBe(1.99);
    expect(refunded(at)).toEqual(["9.99"]);
  });

  test("of a sum refunded a day ago is sent", async () => {
    const at = await known();
    expect((await at.refund({ amount: 3 })).answered).toEqual(done);
    await at.rig.clock.advance(24 * 60 * 60_000 - 1);
    // A wall clock that is set does not let time pass.
    at.rig.clock.jumpWallClock(30 * 60 * 60_000);
    expect((await at.refund({ amount: 3 })).answered).toEqual(isRepeated);
    await at.rig.clock.advance(1);
    expect((await at.refund({ amount: 3 })).answered).toEqual(done);
  });

  test("that two clients ask for at once is refunded once", async () => {
    const at = await known();
    const answers = await Promise.all([at.refund({ amount: 3 }), at.refund({ amount: 3 })]);
    expect(answers.map(({ answered }) => answered)).toEqual(
      expect.arrayContaining([done, isRepeated]),
    );
    expect(refunded(at)).toEqual(["3.00"]);
  });

  test.each(["wrong-code", "not-found-404"] as const)("can follow a %s error", async (kind) => {
    const at = await known();
    at.fault(kind);
    expect((await at.refund({ amount: 3 })).http).not.toBe(200);
    expect((await at.refund({ amount: 3 })).answered).toEqual(done);
  });

  test("that is unknown is not repeated, and stops every other refund", async () => {
    const at = await known();
    at.fault("reset-before-commit");
    expect((await at.refund({ amount: 3 })).answered).toEqual(isUnknown);
    const repeated = await at.refund({ amount: 3 });
    expect([repeated.answered, repeated.one.error.details.state]).toEqual([isRepeated, "unknown"]);
    expect((await at.refund({ amount: 3, again: true })).answered).toEqual(isOpen);
    expect((await at.refund({ amount: 2 })).answered).toEqual(isOpen);
    expect((await at.refund({})).answered).toEqual(isOpen);
    expect(refunded(at)).toEqual(["0.00"]);
  });

  test.each(["confirm", "cancel"] as const)("`again` is no member of a %s", async (kind) => {
    const at = await known();
    const { http, one } = await at.ask(kind, { again: true });
    expect([http, one.error.details.faults[0].field]).toEqual([400, "again"]);
    expect((await at.refund({ again: "yes" })).http).toBe(400);
  });
});

describe("after a loss of supervisor.db", () => {
  /** The clock was ahead and is set right, so that the order seems to be later than the loss. */
  function lose({ rig }: At): void {
    rig.clock.jumpWallClock(-2 * 60 * 60_000);
    rig.losses.note("put back");
    rig.database.exec("DELETE FROM gateway_operations");
  }

  async function lost() {
    const at = await known();
    const first = await at.refund({ idempotencyKey: "k", amount: 4 });
    lose(at);
    expect(first.answered).toEqual(done);
    return at;
  }

  test("an earlier key is unknown, and a key that the journal does not know is new", async () => {
    const at = await lost();
    const again = await at.refund({ idempotencyKey: "k", amount: 4 });
    expect([again.answered, again.one.status, again.one.error.charged]).toEqual([
      isUnknown,
      "Unknown",
      "yes",
    ]);
    const byId = { orderId: undefined, transactionPublicId: at.publicId() };
    expect((await at.refund({ ...byId, idempotencyKey: "l" })).answered).toEqual(isUnknown);
    expect((await at.ask("confirm", { idempotencyKey: "l" })).answered).toEqual(isUnknown);
    expect(refunded(at)).toEqual(["4.00"]);
    expect((await at.refund({ idempotencyKey: "l", amount: 3 })).answered).toEqual(done);
    expect(refunded(at)).toEqual(["7.00"]);
  });

  test("every key is unknown when the journal was lost too", async () => {
    const at = await lost();
    at.at.journal.gaps.begin("put back", true, at.at.clock.now() - 2 * 60 * 60_000);
    expect((await at.refund({ idempotencyKey: "l", amount: 3 })).answered).toEqual(isUnknown);
    expect(refunded(at)).toEqual(["4.00"]);
  });

  test.each([false, true])("earlier and later parts are added up, archived: %s", async (kept) => {
    const at = await lost();
    const { journal, clock } = at.at;
    if (kept) {
      journal.handOffs.noteAccepted(at.transactionId, "pending", clock.now());
      journal.handOffs.setDelivery(at.transactionId, "sent", clock.now());
      journal.archive.putAway(clock.now() + 1, 100);
    }
    expect((await at.refund({ amount: 4, again: true })).answered).toEqual(done);
    const tooMuch = await at.refund({ amount: 4, again: true });
    expect(tooMuch.answered).toEqual([400, "REQUEST_INVALID"]);
    expect((await at.refund({ amount: 1.99, again: true })).answered).toEqual(done);
    expect((await at.call("GET", "/payment/A-1")).one.status).toBe("Reversed");
    expect(refunded(at)).toEqual(["9.99"]);
  });

  test("every part counts as a possible repetition for a day", async () => {
    const at = await lost();
    const repeated = await at.refund({ amount: 4 });
    expect([repeated.answered, repeated.one.error.details]).toEqual([isRepeated, {}]);
    at.rig.clock.jumpWallClock(30 * 60 * 60_000);
    expect((await at.refund({ amount: 3 })).answered).toEqual(isRepeated);
    await at.rig.clock.advance(25 * 60 * 60_000);
    expect((await at.refund({ amount: 3 })).answered).toEqual(done);
    expect((await at.refund({ amount: 2, again: true })).answered).toEqual(done);
    expect(refunded(at)).toEqual(["9.00"]);
  });

  test("a refund that was under way is unknown, and an operator can settle it", async () => {
    const at = await known();
    at.fault("reset-before-commit");
    expect((await at.refund({ amount: 4 })).answered).toEqual(isUnknown);
    lose(at);
    const displayed = (await at.call("GET", "/payment/A-1")).one;
    expect([displayed.status, displayed.warnings.length]).toEqual(["Success", 1]);
    expect((await at.refund({ amount: 3, again: true })).answered).toEqual(isOpen);
    const { one } = await at.call("GET", "/gateway/open");
    expect(one.operations).toMatchObject([{ kind: "refund", amount: 4, orderId: "A-1" }]);
    await at.call("POST", "/gateway/settle", { orderId: "A-1", happened: false, note: "seen" });
    expect((await at.refund({ amount: 3, again: true })).answered).toEqual(done);
    expect(refunded(at)).toEqual(["3.00"]);
  });

  test("a lookup proves a refund that was under way only if the whole sum went back", async () => {
    const at = await known();
    expect((await at.refund({ amount: 4 })).answered).toEqual(done);
    at.fault("reset-before-commit");
    expect((await at.refund({ amount: 3.5 })).answered).toEqual(isUnknown);
    lose(at);
    await at.call("GET", "/payment/A-1");
    await at.call("GET", `/gateway/transaction/${at.publicId()}`);
    expect((await at.call("GET", "/payment/A-1")).one.warnings).toHaveLength(1);
  });
});

describe("a supervisor of an older version", () => {
  test("knows no keys, so no refund that needs them is sent", async () => {
    const at = await known();
    const sent: string[] = [];
    const call = async (name: string, request: object): Promise<never> => {
      sent.push(name);
      if (name === "gateway-key") throw new IpcError("refused", "404", { status: 404 });
      const answer = await at.supervisor.call(name as "gateway-resolve", request as never);
      const { remembers: _, ...older } = answer as { remembers?: true };
      return older as never;
    };
    const link = new SupervisorLink(call, 30_000);
    const arbiter = new GatewayOperations({ ...at.at, link, log: at.rig.log });
    const refund = (idempotencyKey: string | undefined, amountMinor: number | undefined) =>
      arbiter.ask("refund", { orderId: "A-1" }, () => amountMinor, {
        idempotencyKey,
        asked: "this",
        again: false,
      });
    await expect(refund("k", 400)).rejects.toMatchObject({ code: "SUPERVISOR_UNAVAILABLE" });
    await expect(refund(undefined, 400)).rejects.toMatchObject({ code: "SUPERVISOR_UNAVAILABLE" });
    expect(sent).toEqual(["gateway-key", "gateway-resolve"]);
    expect(refunded(at)).toEqual(["0.00"]);
    await expect(refund(undefined, undefined)).resolves.toMatchObject({ amountMinor: 999 });
  });
});
