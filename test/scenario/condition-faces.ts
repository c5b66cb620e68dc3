import { expect, onTestFinished } from "vitest";
import { printStatus, readStatus } from "../../src/launcher/commands/status.ts";
import { checkPrograms } from "../../src/launcher/doctor/check-programs.ts";
import { programStates } from "../../src/launcher/processes/programs.ts";
import { ConditionWatch } from "../../src/shared/catalog/condition-watch.ts";
import type { ConditionName } from "../../src/shared/catalog/conditions.ts";
import { createIpcClient } from "../../src/shared/ipc/client.ts";
import { supervisorMessages, tpManagerMessages } from "../../src/shared/ipc/contract.ts";
import { openRunDirectory } from "../../src/shared/ipc/run-directory.ts";
import { startIpcServer } from "../../src/shared/ipc/server.ts";
import { systemClock } from "../../src/shared/time.ts";
import { supervisorHandlers } from "../../src/supervisor/intake/message-handlers.ts";
import { supervisorConditionWatch } from "../../src/supervisor/intake/supervisor-status.ts";
import { TerminalWatch } from "../../src/tp-manager/http/events/terminal-watch.ts";
import { tpManagerHandlers } from "../../src/tp-manager/message-handlers.ts";
import { alarmPoll } from "../../src/tp-manager/supervisor/polls.ts";
import { SupervisorLink } from "../../src/tp-manager/supervisor/supervisor-link.ts";
import { openRig, type RigOptions } from "../supervisor/supervisor-rig.ts";
import { PATIENCE_MS } from "../support/clocks/patience.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { house } from "../support/house/payment-house.ts";
import { api, monitorOf } from "../tp-manager/http/rig.ts";

/** Both programs' conditions in one process: real local messages, every face, the test clock. */
export async function openFaces(options: RigOptions = {}, at = house()) {
  const rig = await openRig(options);
  const data = temporaryFolder();
  const runDirectory = openRunDirectory(data);
  const common = { runDirectory, log: rig.log };
  const handlers = supervisorHandlers({ ...rig, requestStop: () => {} });
  const serveSupervisor = () =>
    startIpcServer({ ...common, program: "supervisor", messages: supervisorMessages, handlers });
  let supervisorIpc = await serveSupervisor();
  const client = createIpcClient(runDirectory, "supervisor", supervisorMessages, systemClock);
  const link = new SupervisorLink(client.call, 1_000);
  const monitor = monitorOf(at, () => link.call("status", {}));
  const tpManagerIpc = await startIpcServer({
    ...common,
    program: "tp-manager",
    messages: tpManagerMessages,
    handlers: tpManagerHandlers({
      ...at,
      port: 8765,
      pages: [],
      requestStop: () => {},
      watch: new TerminalWatch(at.arbiter.terminal, at.clock, () => {}),
      metrics: monitor.metrics,
      startedAfter: "stop",
    }),
  });
  const local = await api({ monitor }, at);
  const poll = alarmPoll(at.journal.alarms, link, at.clock, at.log);
  const own = supervisorConditionWatch(rig.status, rig.alarmStore, rig.tally, rig.clock, rig.log);
  const tapped = at.hub.tap(at.log);
  const read = () => monitor.conditions();
  const theirs = new ConditionWatch({ by: "tp-manager", read, clock: at.clock, log: tapped });
  const stopSupervisor = () => supervisorIpc.close();
  const startSupervisor = async (): Promise<void> => {
    supervisorIpc = await serveSupervisor();
  };
  onTestFinished(async () => {
    rig.watch.close();
    await Promise.all([stopSupervisor(), tpManagerIpc.close(), at.handOff.close()]);
    client.close();
  });

  /** Both watches look for so long, as they do by themselves; then the alarms are taken. */
  const watchFor = async (ms: number): Promise<void> => {
    for (let passed = 0; passed <= ms; passed += CHECK_EVERY_MS) {
      await own.check();
      await theirs.check();
      await Promise.all([rig.clock.advance(CHECK_EVERY_MS), at.clock.advance(CHECK_EVERY_MS)]);
    }
    await poll.ask();
  };
  const faces = () => facesOf({ ...local, data });
  const kept = () => at.journal.events.alarms(200).map((event) => event.data as { alarm: string });
  const alarms = () => kept().map(({ alarm }) => alarm);
  return { ...local, rig, at, faces, watchFor, alarms, startSupervisor, stopSupervisor };
}

/** How often a watch checks by itself (docs/design.md 8.8). */
const CHECK_EVERY_MS = 10_000;

/** What each face shows of the conditions. */
async function facesOf({ call, data }: Pick<Local, "call"> & { data: string }) {
  const { http, one: health } = await call("GET", "/health");
  const metrics = (await call("GET", "/metrics")).text.split("\n");
  const pattern = /^connector_trouble\{trouble="([a-z-]+)"\} 1$/;
  const measured = metrics.flatMap((line) => pattern.exec(line)?.[1] ?? []);
  const status = await readStatus(data, systemClock);
  const rows: string[] = [];
  const silent = { note: () => {}, text: () => {}, fault: () => {}, heading: () => {} };
  const output = {
    ...silent,
    row: (...cells: string[]) => void rows.push(cells.join(" ")),
    finding: () => {},
  };
  const exitCode = printStatus(status, output as never);
  const findings = checkPrograms(await programStates(data, systemClock, PATIENCE_MS), data);
  return { http, health, metrics, measured, status, exitCode, rows, findings };
}

type Local = Awaited<ReturnType<typeof api>>;
type Faces = Awaited<ReturnType<typeof openFaces>>;

/** Every face shows exactly these conditions, each with what to do, and payments go on. */
export async function expectConditions(
  { faces }: Pick<Faces, "faces">,
  names: readonly ConditionName[],
) {
  const { http, health, measured, status, rows, findings } = await faces();
  expect([http, health.status]).toEqual([200, "Ready"]);
  const listed = health.troubles as Array<{ trouble: string; says: string; todo: string }>;
  expect(listed.map(({ trouble: condition }) => condition)).toEqual(names);
  expect(measured).toEqual(names);
  for (const { says, todo } of listed) {
    expect(health.warnings.some((text: string) => text.startsWith(says))).toBe(true);
    expect(health.warnings.some((text: string) => text.endsWith(`-> ${todo}`))).toBe(true);
  }
  expect(health.warnings).toHaveLength(names.length);
  // The launcher shows a program that does not run in the program's own row.
  const others = listed.filter(({ trouble: condition }) => condition !== "supervisor-silent");
  expect(status.troubles.map(({ name }) => name)).toEqual(
    others.map(({ trouble: condition }) => condition),
  );
  for (const { trouble: condition, todo } of others) {
    const isRow = (row: string) => row.startsWith(`${condition} `) && row.endsWith(`-> ${todo}`);
    expect(rows.filter(isRow)).toHaveLength(1);
    expect(findings.map((finding) => finding.todo)).toContain(todo);
  }
  return health;
}
