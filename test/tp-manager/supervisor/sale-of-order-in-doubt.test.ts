import { cpSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { TransactionReport } from "../../../src/tp-manager/terminal/terminal.ts";
import { noOrder } from "../../supervisor/recording-gateway.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { pay, request } from "../../support/house/payment-house.ts";
import {
  expectSold,
  type Kiosk,
  kiosk,
  restart,
  sell,
} from "../../support/house/two-store-kiosk.ts";
import { copyStore, removeStore, supervisorIn } from "../../support/house/two-stores.ts";
import { lost } from "../../support/terminals/scripted-terminal.ts";

/**
 * An unmatched sale of the terminal may belong to an order in doubt. It may as well belong to an
 * order that was lost with the journal (docs/rules/34-journal-gap.md).
 */

/** A kiosk whose gateway knows no order, as when all was lost before it was sent. */
async function counter(): Promise<Kiosk> {
  const at = await kiosk();
  at.server.lookUp = () => noOrder;
  at.manager.arbiter.start();
  return at;
}

/** Order A is charged and reversed, and the reversal is neither reported nor proved. */
async function reversalInDoubt(at: Kiosk): Promise<void> {
  const { manager, till, clock } = at;
  await expectSold(at, "A");
  manager.terminal.reversal = ({ amountMinor }) => {
    // A terminal that names no original stores it like a sale.
    till.next(amountMinor);
    till.show(manager.terminal);
    return Promise.resolve(lost("line broken"));
  };
  await manager.afterSale.reverse("A").catch(() => {});
  await clock.advance(200_000);
  expect(manager.journal.attempts.decisive("A")?.state.phase).toBe("reversal-in-doubt");
}

/** Order Q is in doubt, and the terminal shows no last transaction that could prove it. */
async function saleInDoubt(at: Kiosk): Promise<void> {
  const { manager, clock } = at;
  manager.terminal.script = () => Promise.resolve(lost("line broken"));
  manager.terminal.last = { kind: "not-told", why: "locked" };
  await pay(manager, request("Q"));
  await clock.advance(200_000);
  expect(manager.journal.attempts.decisive("Q")?.state.phase).toBe("in-doubt");
  at.till.at(manager.terminal);
}

/** The image of the whole machine is restored, which only the terminal can show. */
async function imageBack(at: Kiosk, image: string): Promise<void> {
  at.manager.close();
  await at.seat.rig?.stop();
  for (const name of readdirSync(at.folder)) rmSync(join(at.folder, name), { recursive: true });
  cpSync(image, at.folder, { recursive: true });
  at.seat.rig = await supervisorIn(at.folder, { server: at.server, clock: at.clock });
  restart(at);
}

/** An older copy of the journal is restored, and the supervisor's database is gone. */
async function journalBack(at: Kiosk, copy: string): Promise<void> {
  at.manager.close();
  await at.seat.rig?.stop();
  copyStore(copy, at.folder, "journal");
  removeStore(at.folder, "supervisor");
  at.seat.rig = await supervisorIn(at.folder, { server: at.server, clock: at.clock });
  restart(at);
}

function imageOf({ folder }: Kiosk): string {
  const image = temporaryFolder();
  cpSync(folder, image, { recursive: true });
  return image;
}

/** The terminal's last sale gets a time that is `hours` later. */
function later({ till, manager }: Kiosk, hours: number): void {
  if (!till.last?.localTime) throw new Error("nothing was sold");
  const hour = String(Number(till.last.localTime.slice(0, 2)) + hours).padStart(2, "0");
  till.last = { ...till.last, localTime: `${hour}${till.last.localTime.slice(2)}` };
  till.show(manager.terminal);
}

/** Order X is refused, and never answered as not charged, however often it is repeated. */
async function expectNeverSold(at: Kiosk): Promise<void> {
  at.manager.arbiter.start();
  const { sales } = at.till;
  const codes: unknown[] = [];
  for (let tries = 0; tries < 3; tries++) {
    codes.push(await sell(at, "X").catch(({ code }) => code));
    expect(at.manager.orders.chargedOfOrder("X")).toBe("unknown");
    await at.clock.advance(20_000);
  }
  expect([codes.at(-1), at.till.sales]).toEqual(["TERMINAL_SALE_UNMATCHED", sales]);
}

describe("an order whose sale the terminal shows is not charged again", () => {
  test("after a machine's image with an old reversal in doubt was restored", async () => {
    const at = await counter();
    await reversalInDoubt(at);
    const image = imageOf(at);
    await at.clock.advance(3_600_000);
    await expectSold(at, "X");
    later(at, 2);
    await imageBack(at, image);
    await expectNeverSold(at);
  });

  test.each([
    ["a reversal", reversalInDoubt],
    ["a sale", saleInDoubt],
  ])("after a journal with %s in doubt was restored, whatever its time", async (_name, inDoubt) => {
    const at = await counter();
    await inDoubt(at);
    const copy = temporaryFolder();
    copyStore(at.folder, copy, "journal");
    // The session of the copy is over.
    restart(at);
    await expectSold(at, "X");
    await journalBack(at, copy);
    await expectNeverSold(at);
  });

  test("after an image with a charge that an operator settled was restored", async () => {
    const at = await counter();
    await saleInDoubt(at);
    await at.manager.settle({ orderId: "Q", outcome: "charged", note: "the bank has it" });
    const image = imageOf(at);
    await at.clock.advance(3_600_000);
    await expectSold(at, "X");
    later(at, 2);
    await imageBack(at, image);
    await expectNeverSold(at);
  });
});

test("a record that a reversal in doubt may have stored is no sign of a lost journal", async () => {
  const at = await counter();
  await reversalInDoubt(at);
  await expectSold(at, "B");
  expect(at.manager.guard.open).toBeUndefined();
});

/** What the terminal reports while it sells, and what it shows of the same sale afterwards. */
const spellings: [string, Partial<TransactionReport>, Partial<TransactionReport>][] = [
  ["a report without its time", { localTime: null }, {}],
  ["a record without its date and time", {}, { localDate: null, localTime: null }],
  ["a record without numbers", {}, { receiptNumber: null, traceNumber: null }],
  ["a report without its trace", { traceNumber: null }, {}],
];

describe("a sale that the terminal shows otherwise than it had reported it", () => {
  test.each(spellings)("is no sign of a lost journal: %s", async (_name, live, stored) => {
    const at = await counter();
    spelling(at, live, stored);
    await expectSold(at, "A");
    await expectSold(at, "B");
    await expectSold(at, "C");
    expect(at.manager.guard.open).toBeUndefined();
  });

  test("after a loss stops no later sale of its amount", async () => {
    const at = await counter();
    await expectSold(at, "A");
    at.manager.guard.begin("lost", true);
    spelling(at, { localTime: null }, {});
    await expectSold(at, "B");
    await expectSold(at, "C");
  });

  test("does not hide the sale of an order that was lost", async () => {
    const at = await counter();
    spelling(at, { localTime: null }, {});
    await expectSold(at, "A");
    const image = imageOf(at);
    await expectSold(at, "X");
    await imageBack(at, image);
    await expectNeverSold(at);
  });
});

function spelling(
  { till, manager }: Kiosk,
  live: Partial<TransactionReport>,
  stored: Partial<TransactionReport>,
): void {
  const { terminal } = manager;
  terminal.script = (order, observer) => {
    const sale = till.next(order.amountMinor);
    till.last = { ...sale, ...stored };
    till.show(terminal);
    if (observer.report({ ...sale, ...live }) !== "accept") return Promise.resolve(lost("refused"));
    observer.ackArrived();
    return Promise.resolve({ end: "completed", ticket: "ticket" });
  };
}
