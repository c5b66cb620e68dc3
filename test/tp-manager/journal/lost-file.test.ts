import { readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { backupChore } from "../../../src/shared/program/daily.ts";
import { Journal } from "../../../src/tp-manager/journal/journal.ts";
import { type House, house, pay, request } from "../../support/house/payment-house.ts";
import { baseline } from "../../support/terminals/reports.ts";
import { approves } from "../../support/terminals/scripted-terminal.ts";

const lose = ({ path }: House): void => rmSync(path);

const backupOf = ({ path }: House): string => join(dirname(path), "backup");

/** The journal as it was saved. */
function savedOf(at: House): Journal {
  const [name = ""] = readdirSync(backupOf(at));
  const saved = new Journal(join(backupOf(at), name));
  onTestFinished(() => saved.close());
  return saved;
}

test("no payment reaches the terminal, and a paid order is still answered", async () => {
  const at = house();
  await pay(at, request("A-1"));
  lose(at);
  await expect(pay(at, request("A-2"))).rejects.toMatchObject({
    code: "STORAGE_FAILED",
    charged: "no",
  });
  expect((await pay(at, request("A-1"))).replayed).toBe(true);
  expect(at.terminal.paid).toHaveLength(1);
  expect(savedOf(at).attempts.decisive("A-1")?.state.phase).toBe("charged");
});

test("a file lost while the terminal is made ready keeps its command from leaving", async () => {
  const at = house();
  const prepared = at.terminal.prepare.bind(at.terminal);
  at.terminal.prepare = (signal) => {
    lose(at);
    return prepared(signal);
  };
  await expect(pay(at, request("A-1"))).rejects.toMatchObject({
    code: "STORAGE_FAILED",
    charged: "no",
  });
  expect(at.terminal.paid).toEqual([]);
});

test("a payment that runs is paid, answered, handed off and saved", async () => {
  const at = house();
  at.terminal.script = (order, observer) => {
    lose(at);
    expect(at.journal.proof.known?.says).toMatch(/as soon as nothing runs/);
    return approves(order, observer);
  };
  expect((await pay(at, request("A-1"))).body.status).toBe("Success");
  expect(at.supervisor.stored).toMatchObject([{ orderId: "A-1" }]);
  expect(at.arbiter.notReadyReasons).toMatchObject([{ code: "STORAGE_FAILED", charged: "no" }]);
  expect(savedOf(at).attempts.decisive("A-1")?.state.phase).toBe("charged");
});

test("no return begins, neither at the terminal nor at the gateway", async () => {
  const at = house();
  await pay(at, request("A-1"));
  const sale = at.journal.attempts.decisive("A-1");
  if (sale?.state.phase !== "charged") throw new Error("the sale was not charged");
  at.terminal.baseline = { ...baseline, last: { kind: "transaction", report: sale.state.report } };
  lose(at);
  await expect(at.afterSale.reverse("A-1")).rejects.toMatchObject({
    code: "STORAGE_FAILED",
    charged: "yes",
  });
  expect(at.terminal.reversed).toEqual([]);
  const open = { operationId: "1", kind: "refund", transactionPublicId: "5F1A", atMs: 1 } as const;
  const reserve = () =>
    at.journal.returns.reserveReturn(sale.transactionId, { ...open, amountMinor: 999 }, 999);
  expect(reserve).toThrow(/was deleted or moved away/);
});

test("what lies under the name is not copied as the journal of the day", async () => {
  const at = house();
  const { journal, path, clock } = at;
  const chore = backupChore(path, clock, () => journal.store.copied(), journal.proof);
  rmSync(path);
  await expect(chore.run()).rejects.toThrow(/was deleted or moved away/);
  expect(readdirSync(backupOf(at))).toEqual([expect.stringContaining("-saved-")]);
});
