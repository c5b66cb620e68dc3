import { expect, onTestFinished, test } from "vitest";
import { createIpcClient } from "../../../src/shared/ipc/client.ts";
import { supervisorMessages } from "../../../src/shared/ipc/contract.ts";
import { openRunDirectory } from "../../../src/shared/ipc/run-directory.ts";
import { startIpcServer } from "../../../src/shared/ipc/server.ts";
import { systemClock } from "../../../src/shared/time.ts";
import { supervisorHandlers } from "../../../src/supervisor/intake/message-handlers.ts";
import { alarmPoll } from "../../../src/tp-manager/supervisor/polls.ts";
import { SupervisorLink } from "../../../src/tp-manager/supervisor/supervisor-link.ts";
import { openRig } from "../../supervisor/supervisor-rig.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { type House, house } from "../../support/house/payment-house.ts";

type Rig = Awaited<ReturnType<typeof openRig>>;

const originOf = ({ alarmStore }: Rig): string => alarmStore.after(undefined, 0, 1).origin;

/** A supervisor that answers on a real local socket; `without` leaves a message out. */
async function answering(rig: Rig, runDirectory: string, without?: string) {
  const handlers = supervisorHandlers({
    ...rig,
    requestStop: () => {},
  });
  const known = Object.entries(supervisorMessages).filter(([name]) => name !== without);
  const server = await startIpcServer({
    runDirectory,
    program: "supervisor",
    messages: Object.fromEntries(known) as typeof supervisorMessages,
    handlers,
    log: rig.log,
  });
  let open = true;
  const close = async (): Promise<void> => {
    if (open) await server.close();
    open = false;
  };
  onTestFinished(async () => {
    rig.watch.close();
    await close();
  });
  return { close };
}

/** tp-manager's side, polling. */
function polling(at: House, runDirectory: string) {
  const client = createIpcClient(runDirectory, "supervisor", supervisorMessages, systemClock);
  const link = new SupervisorLink(client.call, 1_000);
  const poll = alarmPoll(at.journal.alarms, link, at.clock, at.log);
  poll.nudge();
  let open = true;
  const close = async (): Promise<void> => {
    if (open) await poll.close();
    open = false;
    client.close();
  };
  onTestFinished(close);
  return { close };
}

const alarmed = ({ journal }: House) =>
  journal.events.alarms(100).map(({ data }) => {
    const { alarm, orderId, source } = data as Record<string, unknown>;
    return `${source}: ${alarm} ${orderId}`;
  });
const later = (at: House): Promise<void> => at.clock.advance(5_000);

test("an alarm of the supervisor becomes one event, with the time it was raised", async () => {
  const [rig, at, folder] = [await openRig(), house(), openRunDirectory(temporaryFolder())];
  await answering(rig, folder);
  rig.log.error({ alarm: "chargeback-or-fraud", orderId: "A-1" }, "card 4111111111111111");
  polling(at, folder);
  await expect.poll(() => alarmed(at)).toEqual(["supervisor: chargeback-or-fraud A-1"]);
  expect(at.journal.events.alarms(1)[0]).toMatchObject({
    atMs: rig.clock.now(),
    data: { message: "card 411111XXXXXX1111", transactionId: null },
  });
  rig.log.error({ alarm: "notification-mismatch", orderId: "A-2" }, "not ours");
  await later(at);
  await expect.poll(() => alarmed(at)).toHaveLength(2);
  await later(at);
  await later(at);
  expect(alarmed(at)).toHaveLength(2);
});

test("a request of the fleet becomes one event of its own kind, and no alarm", async () => {
  const [rig, at, folder] = [await openRig(), house(), openRunDirectory(temporaryFolder())];
  await answering(rig, folder);
  polling(at, folder);
  rig.alarmStore.noteRequest("hold-updates", "6d5c9a3c-9f0e-4a41-9b1c-000000000009");
  await later(at);
  await expect.poll(() => at.journal.alarms.last?.id).toBe(1);
  await later(at);
  expect(at.journal.events.after(0, 9)).toMatchObject([
    {
      name: "fleet-request",
      data: {
        message: "the fleet asked for: hold-updates",
        request: "6d5c9a3c-9f0e-4a41-9b1c-000000000009",
      },
    },
  ]);
  expect(alarmed(at)).toEqual([]);
});

test("no alarm is lost or doubled when either program is started again", async () => {
  const [rig, at, folder] = [await openRig(), house(), openRunDirectory(temporaryFolder())];
  for (let i = 0; i < 450; i++) {
    rig.log.error({ alarm: "transaction-parked", orderId: `A-${i}` }, "parked");
  }
  const first = await answering(rig, folder);
  const poll = polling(at, folder);
  await expect.poll(() => at.journal.alarms.last?.id).toBe(450);
  await first.close();
  await rig.stop();
  await poll.close();
  at.close();

  const [rigAgain, atAgain] = [await openRig({ path: rig.path }), house(at.path)];
  polling(atAgain, folder);
  rigAgain.log.error({ alarm: "transaction-parked", orderId: "A-450" }, "parked");
  await later(atAgain);
  await answering(rigAgain, folder);
  await later(atAgain);
  await expect.poll(() => atAgain.journal.alarms.last?.id).toBe(451);
  const orders = atAgain.journal.events
    .after(0, 1_000)
    .map(({ data }) => ("orderId" in data ? data.orderId : ""));
  expect(orders).toEqual(Array.from({ length: 451 }, (_, i) => `A-${i}`));
});

test("alarms of a new supervisor.db are read from the first, old ones not again", async () => {
  const at = house();
  const folders = [0, 1, 0].map(() => openRunDirectory(temporaryFolder()));
  const rigs = [await openRig(), await openRig()];
  for (const [i, rig] of rigs.entries()) {
    for (let n = 0; n < 300; n++) {
      rig.log.error({ alarm: "transaction-parked", orderId: `${i} ${n}` }, "parked");
    }
  }
  for (const [round, which] of [0, 1, 0].entries()) {
    const folder = folders[round] ?? "";
    const server = await answering(rigs[which] as Rig, folder);
    const poll = polling(at, folder);
    await expect
      .poll(() => at.journal.alarms.last)
      .toMatchObject({ id: 300, origin: originOf(rigs[which] as Rig) });
    await poll.close();
    await server.close();
  }
  const orders = at.journal.events
    .after(0, 1_000)
    .map(({ data }) => ("orderId" in data ? data.orderId : ""));
  const all = (i: number): string[] => Array.from({ length: 300 }, (_, n) => `${i} ${n}`);
  expect(orders).toEqual([...all(0), ...all(1)]);
});

test("an alarm that both programs raise about one transaction becomes one event", async () => {
  const [rig, at, folder] = [await openRig(), house(), openRunDirectory(temporaryFolder())];
  await answering(rig, folder);
  const about = { orderId: "A-1", transactionId: "T-1" };
  at.hub.tap(at.log).error({ alarm: "reversed-after-sending", ...about }, "reversed");
  rig.log.error({ alarm: "reversed-after-sending", ...about }, "reversed at the terminal");
  rig.log.error({ alarm: "reversed-after-sending", ...about, transactionId: "T-2" }, "reversed");
  polling(at, folder);
  await expect.poll(() => alarmed(at)).toHaveLength(2);
  expect(alarmed(at)).toEqual([
    "supervisor: reversed-after-sending A-1",
    "tp-manager: reversed-after-sending A-1",
  ]);
});

test("a supervisor that is down, or too old to have alarms, is asked again", async () => {
  const [rig, at, folder] = [await openRig(), house(), openRunDirectory(temporaryFolder())];
  rig.log.error({ alarm: "transaction-parked", orderId: "A-1" }, "parked");
  polling(at, folder);
  await later(at);
  const old = await answering(rig, folder, "alarms");
  await later(at);
  await later(at);
  expect(alarmed(at)).toEqual([]);
  await old.close();
  await answering(rig, folder);
  await later(at);
  await expect.poll(() => alarmed(at)).toEqual(["supervisor: transaction-parked A-1"]);
});
