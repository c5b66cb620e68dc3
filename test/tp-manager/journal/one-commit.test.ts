import { expect, test } from "vitest";
import { house, pay, request } from "../../support/house/payment-house.ts";
import { baseline } from "../../support/terminals/reports.ts";

test("an outcome whose hand-off cannot be written is not written either", async () => {
  const at = house();
  const { attempts, database } = at.journal;
  database.exec(`CREATE TEMP TRIGGER full BEFORE INSERT ON main.hand_off
    BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`);
  await expect(pay(at, request("A-1"))).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  const [attempt] = attempts.ofOrder("A-1");
  expect(attempt?.state.phase).not.toBe("charged");
  const kinds = attempts.events(attempt?.transactionId ?? "").map(({ kind }) => kind);
  expect(kinds).toContain("report");
  expect(kinds).not.toContain("end-completed");
});

test("an attempt in memory equals the journal after a listener has written to it", async () => {
  const at = house();
  const { attempts, events } = at.journal;
  await pay(at, request("A-1"));
  const [first] = attempts.ofOrder("A-1");
  const begin = (transactionId: string) => {
    const asked = first?.request ?? request("A-1");
    return attempts.begin({ transactionId, request: asked, startedAtMs: 5, baseline });
  };
  events.onEvent = () => {
    events.onEvent = () => {};
    begin("inner");
  };
  begin("outer");
  expect(attempts.newestRow()?.attempt.transactionId).toBe("inner");
  const event = { atMs: 6, kind: "report", detail: {} };
  const to = (ticket: string) => {
    const { state } = attempts.read("inner") as NonNullable<typeof first>;
    return { from: "sent", state: { ...state, phase: "sent" }, steps: [event], ticket } as const;
  };
  attempts.onStep = () => {};
  events.onEvent = () => {
    events.onEvent = () => {};
    attempts.update("inner", { ...to("later"), from: "in-doubt" } as never);
  };
  const stateInDoubt = { ...attempts.read("inner")?.state, phase: "in-doubt" };
  attempts.update("inner", { ...to("first"), state: stateInDoubt } as never);
  expect(attempts.read("inner")?.ticket).toBe("later");
});
