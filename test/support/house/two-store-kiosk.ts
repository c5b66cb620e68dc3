import { expect } from "vitest";
import { AppError, type ErrorCode } from "../../../src/shared/catalog/errors.ts";
import type { TransactionReport } from "../../../src/tp-manager/terminal/terminal.ts";
import { RecordingGateway } from "../../supervisor/recording-gateway.ts";
import { TestClock } from "../clocks/test-clock.ts";
import { temporaryFolder } from "../files/temporary-folder.ts";
import { baseline, report } from "../terminals/reports.ts";
import { lost, type ScriptedTerminal } from "../terminals/scripted-terminal.ts";
import { pay, request } from "./payment-house.ts";
import { managerIn, SupervisorSeat, supervisorIn } from "./two-stores.ts";

export type Manager = ReturnType<typeof managerIn>;

/** A terminal that numbers its sales and reports the last one, for as long as the test runs. */
class Till {
  sales = 0;
  last: TransactionReport | undefined;

  /** The next sale, as the terminal reports it. */
  next(amountMinor: number): TransactionReport {
    this.sales += 1;
    const number = String(this.sales + 100);
    const numbers = { receiptNumber: `0${number}`, traceNumber: `000${number}` };
    const localTime = `13${number.slice(1)}05`;
    this.last = report({ amountMinor, ...numbers, localTime });
    return this.last;
  }

  /** Puts this terminal before a manager, whichever process that is. */
  at(terminal: ScriptedTerminal): void {
    this.show(terminal);
    terminal.script = (order, observer) => {
      const answer = observer.report(this.next(order.amountMinor));
      this.show(terminal);
      if (answer !== "accept") return Promise.resolve(lost("refused"));
      observer.ackArrived();
      return Promise.resolve({ end: "completed", ticket: "ticket" });
    };
    terminal.reversal = (order, observer) => {
      const { traceNumber } = this.last ?? report();
      this.last = { ...this.next(order.amountMinor), originalTrace: traceNumber };
      observer.report(this.last);
      this.show(terminal);
      observer.ackArrived();
      return Promise.resolve({ end: "completed", ticket: "reversal" });
    };
  }

  show(terminal: ScriptedTerminal): void {
    if (!this.last) return;
    terminal.last = { kind: "transaction", report: this.last };
    terminal.baseline = { ...baseline, last: terminal.last };
  }
}

/** A kiosk with both programs, whose databases can come to harm, and its terminal. */
export async function kiosk() {
  const folder = temporaryFolder();
  const server = await RecordingGateway.start();
  const clock = new TestClock(new Date(2026, 0, 15, 13, 0, 0).getTime());
  const seat = new SupervisorSeat();
  const till = new Till();
  seat.rig = await supervisorIn(folder, { server, clock });
  const at = { folder, server, clock, seat, till, manager: managerIn(folder, seat, clock) };
  till.at(at.manager.terminal);
  return at;
}
export type Kiosk = Awaited<ReturnType<typeof kiosk>>;

/** tp-manager again, on the files as they are now. */
export function restart(at: Kiosk): Manager {
  at.manager.close();
  at.manager = managerIn(at.folder, at.seat, at.clock);
  at.till.at(at.manager.terminal);
  return at.manager;
}

export async function sell({ manager, clock }: Kiosk, orderId: string, amountMinor = 999) {
  const answer = pay(manager, request(orderId, { amountMinor }));
  // Some of the way is a real gateway: the clock moves as long as it takes.
  let ended = false;
  const over = (): void => {
    ended = true;
  };
  answer.then(over, over);
  await expect
    .poll(
      async () => {
        await clock.advance(100);
        return ended;
      },
      { interval: 2 },
    )
    .toBe(true);
  return answer;
}

/** The error of a request that is refused. */
async function refusal(at: Kiosk, orderId: string, amountMinor = 999): Promise<AppError> {
  const error: unknown = await sell(at, orderId, amountMinor).catch((fault: unknown) => fault);
  if (!(error instanceof AppError)) throw new Error(`not refused: ${JSON.stringify(error)}`);
  return error;
}

export async function expectRefused(
  at: Kiosk,
  orderId: string,
  code: ErrorCode,
  amountMinor = 999,
) {
  const sales = at.till.sales;
  const error = await refusal(at, orderId, amountMinor);
  expect(error.code).toBe(code);
  expect(at.till.sales).toBe(sales);
  return error;
}

export async function expectReplayed(at: Kiosk, orderId: string): Promise<void> {
  const sales = at.till.sales;
  const { body, replayed } = await sell(at, orderId);
  expect([orderId, body.status, replayed]).toEqual([orderId, "Success", true]);
  expect(at.till.sales).toBe(sales);
}

export async function expectSold(at: Kiosk, orderId: string, amountMinor = 999): Promise<void> {
  const sales = at.till.sales;
  const { body, replayed } = await sell(at, orderId, amountMinor);
  expect([orderId, body.status, replayed]).toEqual([orderId, "Success", false]);
  expect(at.till.sales).toBe(sales + 1);
}

export const alarms = ({ logged, lines }: Manager): unknown[] =>
  [...logged, ...lines].flatMap((line) => (JSON.parse(line) as { alarm?: string }).alarm ?? []);
