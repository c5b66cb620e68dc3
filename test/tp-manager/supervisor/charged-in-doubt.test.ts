import { expect, test } from "vitest";
import { TerminalUnavailable } from "../../../src/tp-manager/terminal/terminal.ts";
import { RecordingGateway } from "../../supervisor/recording-gateway.ts";
import { outcome, pay, request } from "../../support/payment-house.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { TestClock } from "../../support/test-clock.ts";
import {
  copyStore,
  managerIn,
  removeStore,
  SupervisorSeat,
  supervisorIn,
} from "../../support/two-stores.ts";

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
async function told(manager: Manager, orderId: string): Promise<string> {
  const answer = pay(manager, request(orderId)).then(outcome, ({ code }) => String(code));
  await manager.clock.advance(5_000);
  return answer;
}

const declines: Manager["terminal"]["script"] = () =>
  Promise.resolve({ end: "aborted", code: "05", text: "no", reason: "declined", ticket: "" });

test("a copy's word that an order was not charged is unsure, a word of since is not", async () => {
  const { folder, seat, clock, start } = await kiosk();
  const first = start();
  first.terminal.script = declines;
  expect(await told(first, "A")).toBe("Declined");
  first.close();
  const copy = temporaryFolder();
  copyStore(folder, copy, "journal");
  start().close();
  copyStore(copy, folder, "journal");
  await clock.advance(1_000);
  const { rig } = seat;
  seat.rig = undefined;
  const manager = start();
  manager.terminal.script = declines;
  expect(manager.orders.chargedOf("A")).toBe("unknown");
  seat.rig = rig;
  expect(await told(manager, "B")).toBe("Declined");
  expect(manager.orders.chargedOf("B")).toBe("no");
});

test("a refusal before the terminal was asked is no word about the order", async () => {
  const { folder, start } = await kiosk();
  start().close();
  removeStore(folder, "journal");
  const { orders, terminal, ...manager } = start();
  terminal.unavailable = new TerminalUnavailable("disconnected", "no line");
  const at = { orders, terminal, ...manager };
  expect(await told(at, "C")).toBe("TERMINAL_DISCONNECTED");
  expect(orders.chargedOf("C")).toBe("unknown");
  terminal.unavailable = undefined;
  expect(await told(at, "C")).toBe("Success");
});
