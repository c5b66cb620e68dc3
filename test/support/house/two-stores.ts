import { copyFileSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { IpcError } from "../../../src/shared/ipc/client.ts";
import { StoreExchange } from "../../../src/shared/store/store-exchange.ts";
import { supervisorHandlers } from "../../../src/supervisor/intake/message-handlers.ts";
import type { Journal } from "../../../src/tp-manager/journal/journal.ts";
import { GatewayOperations } from "../../../src/tp-manager/supervisor/gateway-operations.ts";
import { Resync } from "../../../src/tp-manager/supervisor/resync.ts";
import { SupervisorLink } from "../../../src/tp-manager/supervisor/supervisor-link.ts";
import { openRig, type RigOptions } from "../../supervisor/supervisor-rig.ts";
import type { TestClock } from "../clocks/test-clock.ts";
import { house } from "./payment-house.ts";
import { recordingLog } from "./recording-log.ts";

type Rig = Awaited<ReturnType<typeof openRig>>;

/** A place for the supervisor: it can be taken away and replaced while tp-manager runs. */
export class SupervisorSeat {
  rig: Rig | undefined;

  /** Messages reach whichever supervisor sits here, with both marks, as over the local socket. */
  link(exchange: StoreExchange): SupervisorLink {
    const call = async (name: string, request: unknown): Promise<never> => {
      const { rig } = this;
      if (!rig) throw new IpcError("unreachable", "nobody listens");
      const outgoing = exchange.outgoing();
      const standing = rig.exchange.receive(structuredClone(outgoing));
      const handlers = supervisorHandlers({
        ...rig,
        requestStop: () => {},
      });
      const handler = handlers[name as keyof typeof handlers] as (given: unknown) => unknown;
      const answer = await handler(structuredClone(request));
      exchange.receive(structuredClone(rig.exchange.outgoing(standing)));
      return answer as never;
    };
    return new SupervisorLink(call, 30_000);
  }
}

/** The supervisor on the database in `folder`, with its queue running. */
export async function supervisorIn(folder: string, options: RigOptions = {}): Promise<Rig> {
  const rig = await openRig({ path: join(folder, "supervisor.db"), ...options });
  rig.forwarder.start();
  return rig;
}

/** tp-manager's money side on the journal in `folder`, as main.ts begins it. */
export function managerIn(folder: string, seat: SupervisorSeat, clock?: TestClock) {
  const { log, lines } = recordingLog();
  let resync: Resync | undefined;
  let isDoubted = false;
  let link: SupervisorLink | undefined;
  const now = (): number => clock?.now() ?? Date.now();
  const linkFor = ({ store, handOffs, gaps }: Journal): SupervisorLink => {
    store.begin((finding) => {
      isDoubted = finding.kind !== "whole";
      if (finding.kind !== "whole") gaps.begin(`journal.db: ${finding.because}`, false, now());
    });
    const exchange = new StoreExchange(
      store,
      () => at.guard.begin("the supervisor remembers more of it than it holds"),
      () => resync?.begin(),
    );
    handOffs.marks = exchange;
    return seat.link(exchange);
  };
  const at = house(join(folder, "journal.db"), undefined, {
    ...(clock ? { clock } : {}),
    onSupervisorLacks: () => resync?.beginOnce(),
    linkFor: (journal) => {
      link = linkFor(journal);
      return link;
    },
  });
  if (!link) throw new Error("the house asked for no link");
  resync = new Resync(at.journal.resync, link, at.clock, log, () => !at.guard.open);
  resync.start();
  const gateway = new GatewayOperations({ link, ...at });
  at.guard.start(isDoubted);
  /** A message, as the polls of tp-manager send one every few seconds. */
  const meet = async (): Promise<void> => {
    await link?.call("status", {});
  };
  const close = (): void => {
    void at.guard.close();
    void resync?.close();
    void at.handOff.close();
    at.close();
  };
  onTestFinished(close);
  return { ...at, gateway, logged: lines, meet, close };
}

/** The files of one database; `name` without its ending. */
const parts = (folder: string, name: string): string[] =>
  ["db", "db-wal", "db-shm"].map((ending) => join(folder, `${name}.${ending}`));

export function copyStore(from: string, to: string, name: string): void {
  removeStore(to, name);
  for (const [i, path] of parts(from, name).entries()) {
    const target = parts(to, name)[i];
    if (existsSync(path) && target) copyFileSync(path, target);
  }
}

export function removeStore(folder: string, name: string): void {
  for (const path of parts(folder, name)) rmSync(path, { force: true });
}
