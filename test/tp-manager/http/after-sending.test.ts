import { expect, test, vi } from "vitest";
import { IpcError } from "../../../src/shared/ipc/client.ts";
import { AttemptRows } from "../../../src/tp-manager/journal/attempt-rows.ts";
import { SupervisorLink } from "../../../src/tp-manager/supervisor/supervisor-link.ts";
import { house, pay, request } from "../../support/house/payment-house.ts";
import { api } from "./rig.ts";

/** What was sent may be carried out, whatever fails afterwards (docs/rules/23-asked.md). */

const fails = (): never => {
  throw new Error("the disk is full");
};

test("an end of day whose end cannot be written is Unknown", async () => {
  const { at, call } = await api();
  vi.spyOn(at.journal.terminalLog, "endTelecollection").mockImplementationOnce(fails);
  const { one } = await call("POST", "/tlc");
  expect([one.error.code, one.status]).toEqual(["STORAGE_FAILED", "Unknown"]);
});

test("an end of day whose begin cannot be written is Failed", async () => {
  const { at, call } = await api();
  vi.spyOn(at.journal.terminalLog, "beginTelecollection").mockImplementationOnce(fails);
  const { one } = await call("POST", "/tlc");
  expect([one.error.code, one.status]).toEqual(["STORAGE_FAILED", "Failed"]);
});

test("a sale and a reversal that cannot be read again are Unknown", async () => {
  const { at, call, post } = await api();
  at.terminal.remembers = true;
  const outcome = ({ one }: Awaited<ReturnType<typeof post>>) => [
    one.error?.code,
    one.status,
    one.error?.charged,
  ];
  const { attempts } = at.journal;
  /** The next reading of an attempt fails once, as soon as `has` is true. */
  const failAfter = (method: "read" | "decisive", has: () => boolean) => {
    const real = AttemptRows.prototype[method].bind(attempts);
    attempts[method] = (id) => {
      if (!has()) return real(id);
      attempts[method] = real;
      return fails();
    };
  };
  const delivered = vi.spyOn(at.handOff, "delivered");
  failAfter("read", () => delivered.mock.calls.length > 0);
  const sold = await post({ amount: 9.99, orderId: "A-1" });
  expect(outcome(sold)).toEqual(["STORAGE_FAILED", "Unknown", "yes"]);
  // A repetition sends nothing, so it has failed.
  failAfter("read", () => true);
  const repeated = await post({ amount: 9.99, orderId: "A-1" });
  expect(outcome(repeated)).toEqual(["STORAGE_FAILED", "Failed", "yes"]);

  const reverse = vi.spyOn(at.arbiter.commands, "reverse");
  failAfter("decisive", () => reverse.mock.settledResults[0]?.type === "fulfilled");
  const reversed = await call("POST", "/reversal", { orderId: "A-1" });
  expect(outcome(reversed)).toEqual(["STORAGE_FAILED", "Unknown", "no"]);
});

test.each([
  ["no-answer", "Unknown"],
  ["refused", "Unknown"],
  ["unreachable", "Failed"],
] as const)("a change that the supervisor leaves %s is %s", async (failure, status) => {
  const fails = () => Promise.reject(new IpcError(failure, "why"));
  const at = house();
  await pay(at, request("A-1"));
  const transactionId = at.supervisor.stored[0]?.transactionId;
  const { call } = await api({ supervisor: new SupervisorLink(fails, 1_000) }, at);
  const { one } = await call("POST", `/outbox/${transactionId}/drop`, { note: "seen" });
  const { code, charged } = one.error;
  expect([code, one.status, charged]).toEqual(["SUPERVISOR_UNAVAILABLE", status, "yes"]);
});
