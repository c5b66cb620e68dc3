import { expect, test } from "vitest";
import { TerminalUnavailable } from "../../../src/tp-manager/terminal/terminal.ts";
import { RecordingGateway } from "../../supervisor/recording-gateway.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { outcome, pay, request } from "../../support/house/payment-house.ts";
import {
  copyStore,
  managerIn,
  removeStore,
  SupervisorSeat,
  supervisorIn,
} from "../../support/house/two-stores.ts";
import type { baseline } from "../../support/terminals/reports.ts";
import { api } from "../http/rig.ts";

type Manager = ReturnType<typeof managerIn>;

async function kiosk() {
  const folder = temporaryFolder();
  const server = await RecordingGateway.start();
  const clock = new TestClock(new Date(2026, 0, 15, 13, 0, 0).getTime());
  const seat = new SupervisorSeat();
  seat.rig = await supervisorIn(folder, { server, clock });
  const start = (): Manager => managerIn(folder, seat, clock);
  return { folder, seat, clock, start };
}

/** The answer to a payment, or the error's code. */
async function answered(manager: Manager, orderId: string): Promise<string> {
  const answer = pay(manager, request(orderId)).then(outcome, ({ code }) => String(code));
  await manager.clock.advance(5_000);
  return answer;
}

const declines: Manager["terminal"]["script"] = () =>
  Promise.resolve({ end: "aborted", code: "05", text: "no", reason: "declined", ticket: "" });

const HOURS_MS = 5 * 3_600_000;

test.each([
  { clock: "goes on", atLossMs: 1_000, sinceMs: 0 },
  { clock: "was set back before the loss", atLossMs: -HOURS_MS, sinceMs: 0 },
  { clock: "is set back after it", atLossMs: 1_000, sinceMs: -HOURS_MS },
])("a copy's word is unsure, a word of since is not; the clock $clock", async (row) => {
  const { folder, seat, clock, start } = await kiosk();
  const first = start();
  first.terminal.script = declines;
  expect(await answered(first, "A")).toBe("Declined");
  first.close();
  const copy = temporaryFolder();
  copyStore(folder, copy, "journal");
  start().close();
  copyStore(copy, folder, "journal");
  clock.jumpWallClock(row.atLossMs);
  const { rig } = seat;
  seat.rig = undefined;
  const manager = start();
  manager.terminal.script = declines;
  expect(manager.orders.chargedOfOrder("A")).toBe("unknown");
  seat.rig = rig;
  clock.jumpWallClock(row.sinceMs);
  expect(await answered(manager, "B")).toBe("Declined");
  expect(manager.orders.chargedOfOrder("B")).toBe("no");
});

test("a refusal before the terminal was asked says nothing about the order", async () => {
  const { folder, start } = await kiosk();
  start().close();
  removeStore(folder, "journal");
  const { orders, terminal, ...manager } = start();
  terminal.unavailable = new TerminalUnavailable("disconnected", "no line");
  const at = { orders, terminal, ...manager };
  expect(await answered(at, "C")).toBe("TERMINAL_DISCONNECTED");
  expect(orders.chargedOfOrder("C")).toBe("unknown");
  terminal.unavailable = undefined;
  expect(await answered(at, "C")).toBe("Success");
});

/** The journal is gone, and the terminal takes its time to get ready. */
async function preparing() {
  const { clock, folder, start } = await kiosk();
  start().close();
  removeStore(folder, "journal");
  const at = start();
  let isAsked = false;
  const ready = Promise.withResolvers<typeof baseline>();
  at.terminal.prepare = (signal) => {
    isAsked = true;
    signal.addEventListener("abort", () => ready.reject(signal.reason), { once: true });
    return ready.promise;
  };
  const rig = await api({}, at);
  /** The answer to a payment that `stop` ends before anything has left. */
  const ended = async (body: object, stop: () => unknown) => {
    const answer = rig.call("POST", "/payment", { amount: 9.99, ...body });
    const isPreparing = async (): Promise<boolean> => {
      await clock.advance(100);
      return isAsked;
    };
    await expect.poll(isPreparing, { interval: 2 }).toBe(true);
    await stop();
    return answer;
  };
  const cancel = () => rig.call("POST", "/cancel");
  return { ...rig, at, ended, cancel, fails: ready.reject };
}

const unknown = { code: "STORES_DISAGREE", charged: "unknown", retry: "same_order" };

test("an order that is cancelled before it began is not answered as ended", async () => {
  const { ended, cancel, at } = await preparing();
  const { http, one } = await ended({ orderId: "D" }, cancel);
  expect([http, one.status]).toEqual([503, "Unknown"]);
  expect(one.error).toMatchObject({ ...unknown, message: expect.stringContaining("cancelled") });
  expect(at.journal.attempts.decisive("D")).toBeUndefined();
});

test("an order that finds the terminal busy at its begin is not failed", async () => {
  const { ended, fails } = await preparing();
  const busy = new TerminalUnavailable("busy", "the terminal is busy");
  const { http, one } = await ended({ orderId: "E" }, () => fails(busy));
  expect([http, one.status]).toEqual([503, "Unknown"]);
  expect(one.error).toMatchObject({ ...unknown, message: expect.stringContaining("busy") });
});

test("an order whose id was made here is cancelled as ever: no journal ever knew it", async () => {
  const { ended, cancel } = await preparing();
  const { http, one } = await ended({}, cancel);
  expect([http, one.status, one.error.charged]).toEqual([200, "Cancelled", "no"]);
});
