import { expect, test } from "vitest";
import { house, pay, request } from "../../support/payment-house.ts";

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
