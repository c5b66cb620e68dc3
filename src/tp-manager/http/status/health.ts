import { statfs } from "node:fs/promises";
import { osName, versionNumber } from "../../../shared/installation.ts";
import type { ResponseOf, supervisorMessages } from "../../../shared/ipc/contract.ts";
import { type Clock, isoTime } from "../../../shared/time.ts";
import type { AttemptStore } from "../../attempts/attempt-store.ts";
import type { EventData, KeptEvent } from "../../attempts/event-table.ts";
import type { HandOffStore } from "../../attempts/hand-off-store.ts";
import type { TerminalDesk } from "../../desk/terminal-desk.ts";
import type { TerminalIdentity } from "../../terminal/terminal.ts";

export type SupervisorStatus = ResponseOf<typeof supervisorMessages, "status">;

/** The desk's facts about the terminal and about open doubts. */
export type DeskFacts = Pick<
  TerminalDesk,
  "terminal" | "turn" | "gate" | "blockedBy" | "strayAsked"
>;

interface HealthParts {
  readonly clock: Clock;
  readonly desk: DeskFacts;
  readonly counts: JournalCounts;
  readonly terminal: () => EventData<"terminal">;
  readonly identity: () => TerminalIdentity;
  /** The newest kept alarms, the newest first. */
  readonly alarms: () => readonly KeptEvent[];
  /** Rejects when the supervisor does not answer within a short limit. */
  readonly supervisor: () => Promise<SupervisorStatus>;
  readonly dataDirectory: string;
  /** UPDATE_TIME, hh:mm. */
  readonly choresAt: string;
}

export interface JournalCounts {
  readonly attempts: Pick<AttemptStore, "countInDoubt">;
  readonly handOffs: Pick<HandOffStore, "countPendingHandOffs">;
}

/** A payment needs a few kilobytes; with less than this the logs of one day may fill the disk. */
const DISK_FREE_MIN_BYTES = 50 * 1024 * 1024;

export interface Health {
  readonly status: "Ready" | "NotReady";
  /** Why no payment can be taken now; empty when one can. */
  readonly reasons: readonly string[];
  /** Conditions that do not stop payments and still want somebody. */
  readonly warnings: readonly string[];
  readonly terminal: EventData<"terminal"> & { readonly version: string };
  readonly running: { readonly what: string; readonly orderId: string | null } | null;
  readonly payments: { readonly inDoubt: number; readonly notHandedOver: number } | null;
  readonly outbox: Outbox | null;
  /** Those of the last day, the newest first; GET /events has all. */
  readonly alarms: readonly Alarm[];
  readonly disk: { readonly freeBytes: number; readonly freeMinBytes: number } | null;
  readonly clock: {
    readonly now: string;
    readonly timeZone: string;
    readonly uptimeSeconds: number;
  };
  readonly versions: Readonly<Record<"connector" | "supervisor" | "node" | "os", string>>;
  readonly dailyChoresAt: string;
}

interface Alarm extends EventData<"alarm"> {
  readonly id: number;
  readonly at: string;
}

interface Outbox {
  readonly pending: number;
  readonly parked: number;
  readonly sent: number;
  readonly oldestAgeSeconds: number | null;
  readonly paused: string | null;
}

/** Whether a payment can be taken now, or why not, and everything a glance should show. */
export async function healthOf(parts: HealthParts): Promise<Health> {
  const [supervisor, disk] = await Promise.all([
    parts.supervisor().then(
      (answer) => answer,
      () => null,
    ),
    diskOf(parts.dataDirectory),
  ]);
  const terminal = parts.terminal();
  const journal = readJournal(parts);
  const payments = journal?.counts ?? null;
  const current = parts.desk.turn.current;
  const full = disk !== null && disk.freeBytes < disk.freeMinBytes;
  const reasons = [
    ...terminalReasons(terminal),
    ...paymentReasons(parts.desk),
    ...journalReasons(journal),
  ];
  return {
    status: reasons.length === 0 ? "Ready" : "NotReady",
    reasons,
    warnings: [
      ...(full ? ["the disk of the data folder is nearly full"] : []),
      ...supervisorWarnings(supervisor),
      ...(payments && payments.inDoubt > 0 ? [`${payments.inDoubt} payments are in doubt`] : []),
    ],
    terminal: { ...terminal, version: parts.identity().version },
    running: current ? { what: current.what, orderId: current.orderId ?? null } : null,
    payments,
    outbox: supervisor && outboxOf(supervisor),
    alarms: alarmsOf(parts),
    disk,
    clock: {
      now: new Date(parts.clock.now()).toISOString(),
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      uptimeSeconds: Math.round(process.uptime()),
    },
    versions: {
      connector: versionNumber,
      supervisor: supervisor?.version ?? "",
      node: process.versions.node,
      os: osName(),
    },
    dailyChoresAt: parts.choresAt,
  };
}

function terminalReasons({ link, problem, state, detail }: EventData<"terminal">): string[] {
  if (link !== "connected") return [`no link to the terminal: ${problem ?? link}`];
  return state === "action-needed" ? [`the terminal needs action: ${detail}`] : [];
}

function paymentReasons({ turn, blockedBy, strayAsked }: DeskFacts): string[] {
  return [
    ...(turn.closed ? ["the connector is being stopped"] : []),
    ...(blockedBy === undefined ? [] : [`order ${blockedBy} is in doubt and asked about`]),
    ...(strayAsked ? ["the terminal reported a sale without an order and is asked"] : []),
  ];
}

function journalReasons(journal: JournalFacts | null): string[] {
  if (!journal) return ["the journal cannot be read: check the data folder"];
  return journal.terminalChanged ? ["another terminal is connected: POST /terminal/accept"] : [];
}

function supervisorWarnings(supervisor: SupervisorStatus | null): string[] {
  if (!supervisor) return ["the supervisor does not answer: transactions wait in the journal"];
  const { paused, parked } = supervisor.outbox;
  return [
    ...(paused === null ? [] : [`nothing is sent to the gateway: ${paused}`]),
    ...(parked > 0
      ? [`the gateway refused ${parked} transactions; they wait for an operator`]
      : []),
  ];
}

function outboxOf({ outbox }: SupervisorStatus): Outbox {
  const { oldestAgeMs, ...others } = outbox;
  return {
    pending: others.pending,
    parked: others.parked,
    sent: others.sent,
    oldestAgeSeconds: oldestAgeMs === null ? null : Math.round(oldestAgeMs / 1000),
    paused: others.paused,
  };
}

const ALARMS_FOR_MS = 24 * 3_600_000;

function alarmsOf({ alarms, clock }: HealthParts): Alarm[] {
  try {
    return alarms().flatMap((event) => {
      const isNew = event.name === "alarm" && clock.now() - event.atMs < ALARMS_FOR_MS;
      const at = isoTime(event.atMs);
      return isNew ? [{ id: event.id, at, ...event.data }] : [];
    });
  } catch {
    return []; // told as a reason for not being ready
  }
}

interface JournalFacts {
  readonly counts: { readonly inDoubt: number; readonly notHandedOver: number };
  readonly terminalChanged: boolean;
}

/** null: the journal cannot be read. */
function readJournal({ counts, desk }: HealthParts): JournalFacts | null {
  try {
    return {
      counts: {
        inDoubt: counts.attempts.countInDoubt(),
        notHandedOver: counts.handOffs.countPendingHandOffs(),
      },
      terminalChanged: desk.gate.changed,
    };
  } catch {
    return null; // told as a reason for not being ready
  }
}

/** null where the system does not tell. */
async function diskOf(folder: string): Promise<Health["disk"]> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return { freeBytes: bavail * bsize, freeMinBytes: DISK_FREE_MIN_BYTES };
  } catch {
    return null;
  }
}
