import { expect } from "vitest";
import { backupChore } from "../../../src/shared/program/daily.ts";
import { installationAt } from "../../../src/shared/program/installation.ts";
import { RecordingGateway } from "../../supervisor/recording-gateway.ts";
import { TestClock } from "../clocks/test-clock.ts";
import { temporaryFolder } from "../files/temporary-folder.ts";
import { recordedOutput } from "../programs/recorded-output.ts";
import { pay, request } from "./payment-house.ts";
import { managerIn, SupervisorSeat, supervisorIn } from "./two-stores.ts";

/** A kiosk whose programs run; order A was paid. */
export async function runningKiosk(folder = temporaryFolder()) {
  const clock = new TestClock(new Date(2026, 0, 15, 13, 0, 0).getTime());
  const server = await RecordingGateway.start();
  const seat = new SupervisorSeat();
  const rig = await supervisorIn(folder, { server, clock });
  seat.rig = rig;
  const manager = managerIn(folder, seat, clock);
  const sent = (orderId: string): number =>
    server.references.filter((reference) => reference === orderId).length;
  const sell = async (orderId: string): Promise<void> => {
    const answer = pay(manager, request(orderId));
    await expect.poll(async () => await clock.advance(100).then(() => sent(orderId))).toBe(1);
    await clock.advance(6_000);
    expect((await answer).body.status).toBe("Success");
  };
  const stop = async (): Promise<void> => {
    manager.close();
    await rig.stop();
  };
  await sell("A");
  return { folder, clock, server, seat, rig, manager, sell, sent, stop };
}

/** The stopped kiosk with the nightly copies of a day on which A was paid; B was paid since. */
export async function kiosk(folder?: string) {
  const running = await runningKiosk(folder);
  const { clock, server, seat, rig, manager, sent } = running;
  await backupChore(rig.path, clock, () => rig.ownStore.copied()).run();
  const { journal, path } = manager;
  await backupChore(path, clock, () => journal.store.copied()).run();
  await running.sell("B");
  await running.stop();
  return { folder: running.folder, clock, server, seat, sent, ...commandAt(running.folder, clock) };
}

/** What a command of the launcher is given for this folder, and the lines that it prints. */
export function commandAt(folder: string, clock: TestClock) {
  const lines: string[] = [];
  return { lines, site: { ...installationAt(folder), clock, output: recordedOutput(lines) } };
}
