import { statfs } from "node:fs/promises";
import { type ErrorCode, errorTable } from "../../../shared/catalog/errors.ts";
import {
  inDoubtWords,
  KEEPS_PAYMENTS,
  type TpManagerTroubles,
  type Trouble,
  type TroubleName,
  troubleOf,
  troublesOf,
  troubleTable,
  wordsOf,
} from "../../../shared/catalog/troubles.ts";
import type { ResponseOf, supervisorMessages } from "../../../shared/ipc/contract.ts";
import { osName, versionNumber } from "../../../shared/process/installation.ts";
import { type Clock, isoTime } from "../../../shared/time.ts";
import { localTimeZone } from "../../../shared/time-zone.ts";
import type { TerminalArbiter } from "../../arbiter/terminal-arbiter.ts";
import { type EventData, type KeptEvent, PAYMENT_UNKNOWN } from "../../attempts/event-table.ts";
import { isInDoubt } from "../../attempts/phase-table.ts";
import type { AttemptRows } from "../../journal/attempt-rows.ts";
import type { SeenRows } from "../../journal/seen-rows.ts";
import type { HandOff } from "../../supervisor/hand-off.ts";
import type { StoreGuard } from "../../supervisor/store-guard.ts";
import type { Prompt, TerminalIdentity } from "../../terminal/terminal.ts";
import { type OwnTroubleParts, ownTroubles } from "./own-troubles.ts";
import { type Updates, updatesOf } from "./updates.ts";

export type SupervisorStatus = ResponseOf<typeof supervisorMessages, "status">;

/** The arbiter's facts about the terminal and about open doubts. */
export type ArbiterFacts = Pick<
  TerminalArbiter,
  "terminal" | "turn" | "gate" | "obstacles" | "refusedBeside"
>;

type ReplacedTerminal = NonNullable<TerminalArbiter["gate"]["replaced"]>;

interface HealthParts {
  readonly clock: Clock;
  readonly arbiter: ArbiterFacts;
  readonly counts: JournalCounts;
  readonly handOff: Pick<HandOff, "trouble">;
  readonly guard: Pick<StoreGuard, "open">;
  readonly terminal: () => EventData<"terminal">;
  readonly identity: () => TerminalIdentity;
  readonly promptOf: (orderId: string) => Pick<Prompt, "text" | "texts"> | null;
  /** The newest kept alarms, the newest first. */
  readonly alarms: () => readonly KeptEvent[];
  /** Rejects when the supervisor does not answer within a short limit. */
  readonly supervisor: () => Promise<SupervisorStatus>;
  readonly dataDirectory: string;
  /** UPDATE_TIME, hh:mm. */
  readonly choresAt: string;
}

export interface JournalCounts extends Omit<OwnTroubleParts, "handOff" | "clock" | "arbiter"> {
  readonly attempts: Pick<AttemptRows, "countInDoubt" | "read">;
  readonly seen: Pick<SeenRows, "seenAtMs" | "waiting" | "newestMs">;
}

/** A payment needs a few kilobytes; with less than this the logs of one day may fill the disk. */
const DISK_FREE_MIN_BYTES = 50 * 1024 * 1024;

export interface Health {
  readonly status: "Ready" | "NotReady";
  /** Why no payment can be taken now; empty when one can. */
  readonly reasons: readonly string[];
  /** The reasons, each with the code of the refused payment and what helps. */
  readonly obstacles: readonly ToldObstacle[];
  /** Conditions that do not stop payments and still want somebody. */
  readonly warnings: readonly string[];
  /** Warnings that are no trouble of the table, for programs. */
  readonly notes: readonly Note[];
  readonly terminal: EventData<"terminal"> & { readonly version: string };
  /** Another terminal is connected than the accepted one; null: no. */
  readonly replaced: ReplacedTerminal | null;
  readonly running: Running | null;
  readonly payments: { readonly inDoubt: number; readonly notHandedOver: number } | null;
  readonly outbox: Outbox | null;
  /** The warnings about the way to the gateway, for programs. */
  readonly troubles: readonly ToldTrouble[];
  /** Of the last day, or as long as their trouble lasts; the newest first. GET /events has all. */
  readonly alarms: readonly Alarm[];
  readonly disk: { readonly freeBytes: number; readonly freeMinBytes: number } | null;
  readonly clock: {
    readonly now: string;
    readonly timeZone: string;
    readonly uptimeSeconds: number;
  };
  readonly versions: Readonly<Record<"connector" | "supervisor" | "node" | "os", string>>;
  readonly dailyChoresAt: string;
  readonly updates: Updates | null;
}

export const noteNames = ["journal-doubted", "sales-unmatched", "disk-full", "in-doubt"] as const;

interface Note {
  readonly note: (typeof noteNames)[number];
  readonly says: string;
  /** null: not countable. */
  readonly count: number | null;
}

interface ToldObstacle {
  readonly code: ErrorCode;
  readonly says: string;
  readonly todo: string;
}

interface Running {
  readonly what: string;
  readonly orderId: string | null;
  /** The last one that the terminal showed the customer of this order. */
  readonly prompt: string | null;
  readonly promptTexts: Prompt["texts"];
  /** Approved: until when the terminal waits for the word about the goods (docs/design.md 5.12). */
  readonly goodsBy: string | null;
}

interface ToldTrouble {
  readonly trouble: TroubleName;
  readonly says: string;
  readonly todo: string;
  /** null: not known. */
  readonly since: string | null;
  /** How many are concerned; null: not countable. */
  readonly count: number | null;
  /** At most five of the orders that it is about. */
  readonly orderIds: readonly string[];
}

interface Alarm extends EventData<"alarm"> {
  readonly id: number;
  readonly at: string;
  /** null: it is about one moment, or about one order. */
  readonly trouble: Pick<ToldTrouble, "trouble" | "since" | "count"> | null;
  /** A person's word ends it (POST /seen); else it lasts with its cause. */
  readonly endsWhenSeen: boolean;
}

interface Outbox {
  readonly pending: number;
  readonly parked: number;
  readonly sent: number;
  readonly oldestAgeSeconds: number | null;
  readonly paused: string | null;
  /** null: an older supervisor does not tell. */
  readonly ambiguous: SupervisorStatus["outbox"]["ambiguous"] | null;
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
  const troubles = troublesOf({ supervisor, tpManager: journal?.troubles });
  const current = parts.arbiter.turn.current;
  const full = disk !== null && disk.freeBytes < disk.freeMinBytes;
  const { obstacles } = parts.arbiter;
  const reasons = obstacles.map(({ says }) => says);
  const notes = [
    ...doubtNotes(parts.guard),
    ...(full ? [noteOf("disk-full", "the disk of the data folder is nearly full")] : []),
    ...inDoubtNote(payments?.inDoubt ?? 0),
  ];
  return {
    status: reasons.length === 0 ? "Ready" : "NotReady",
    reasons,
    obstacles: obstacles.map(({ code, says }) => ({ code, says, todo: errorTable[code].action })),
    warnings: [
      ...notes.map(({ says }) => says),
      ...troubles.filter(({ row }) => row.check !== KEEPS_PAYMENTS).map(wordsOf),
    ],
    notes,
    terminal: { ...terminal, version: parts.identity().version },
    replaced: replacedOf(parts.arbiter),
    running: current ? runningOf(current, parts) : null,
    payments,
    outbox: supervisor && outboxOf(supervisor),
    troubles: troubles.map(toldTrouble),
    alarms: alarmsOf(parts, troubles, supervisor !== null),
    disk,
    clock: {
      now: new Date(parts.clock.now()).toISOString(),
      timeZone: localTimeZone(),
      uptimeSeconds: Math.round(process.uptime()),
    },
    versions: {
      connector: versionNumber,
      supervisor: supervisor?.version ?? "",
      node: process.versions.node,
      os: osName(),
    },
    dailyChoresAt: parts.choresAt,
    updates: updatesOf(supervisor),
  };
}

function replacedOf({ gate }: Pick<ArbiterFacts, "gate">): ReplacedTerminal | null {
  try {
    return gate.replaced ?? null;
  } catch {
    return null; // told as a reason for not being ready
  }
}

function runningOf(
  { what, orderId, goodsUntilMs }: NonNullable<ArbiterFacts["turn"]["current"]>,
  { promptOf }: HealthParts,
): Running {
  const prompt = orderId === undefined ? null : promptOf(orderId);
  return {
    what,
    orderId: orderId ?? null,
    prompt: prompt?.text ?? null,
    promptTexts: prompt?.texts ?? null,
    goodsBy: isoTime(goodsUntilMs ?? null),
  };
}

function noteOf(note: Note["note"], says: string, count: number | null = null): Note {
  return { note, says, count };
}

function inDoubtNote(count: number): Note[] {
  if (count === 0) return [];
  return [noteOf("in-doubt", inDoubtWords(count), count)];
}

function doubtNotes({ open }: HealthParts["guard"]): Note[] {
  if (!open) return [];
  const says =
    `${open.because}: each new order is looked up first, until the next end of day or ` +
    "./launch.sh stores accept";
  const sales = open.ofNoOrder.length;
  if (sales === 0) return [noteOf("journal-doubted", says)];
  const has = `the terminal has ${sales} ${sales === 1 ? "sale" : "sales"} that no order here has`;
  return [noteOf("journal-doubted", says), noteOf("sales-unmatched", has, sales)];
}

function toldTrouble({ name, row, says, sinceMs, count, orderIds = [] }: Trouble): ToldTrouble {
  return { trouble: name, says, todo: row.todo, since: isoTime(sinceMs), count, orderIds };
}

function outboxOf({ outbox }: SupervisorStatus): Outbox {
  const { oldestAgeMs, ...others } = outbox;
  return {
    pending: others.pending,
    parked: others.parked,
    sent: others.sent,
    oldestAgeSeconds: oldestAgeMs === null ? null : Math.round(oldestAgeMs / 1000),
    paused: others.paused,
    ambiguous: others.ambiguous ?? null,
  };
}

const ALARMS_FOR_MS = 24 * 3_600_000;
const ALARMS_SHOWN = 5;

/**
 * The alarm of a trouble is there as long as the trouble, with the words of now, that of an order
 * in doubt as long as the doubt; all others for a day. Nothing is known of the supervisor's
 * troubles while it is silent: then all stay for a day.
 */
function alarmsOf(
  { alarms, clock, counts }: HealthParts,
  troubles: readonly Trouble[],
  told: boolean,
): Alarm[] {
  const byName = new Map(troubles.map((trouble) => [trouble.name, trouble]));
  const shown = new Set<TroubleName>();
  const one = (event: KeptEvent): Alarm[] => {
    if (event.name !== "alarm") return [];
    const { id, atMs, data } = event;
    const at = isoTime(atMs);
    const name = troubleOf(data.alarm, data.finding);
    const trouble = name && byName.get(name);
    const doubt = doubtOf(data, counts);
    if (doubt === "settled") return [];
    const isOver =
      name !== undefined && !trouble && (told || troubleTable[name].by !== "supervisor");
    const isOld = clock.now() - atMs >= ALARMS_FOR_MS;
    if (isOver || (!trouble && doubt !== "open" && isOld)) return [];
    if (!trouble || data.orderId !== null || data.transactionId !== null) {
      const endsWhenSeen = doubt !== "open";
      if (endsWhenSeen && isSeen(counts.seen, event)) return [];
      return [{ id, at, ...data, trouble: null, endsWhenSeen }];
    }
    if (shown.has(trouble.name)) return []; // of an earlier time of the same trouble
    shown.add(trouble.name);
    const { says, todo: _, orderIds: _named, ...now } = toldTrouble(trouble);
    const message = `${says} -> ${trouble.row.todo}`;
    return [{ id, at, ...data, message, trouble: now, endsWhenSeen: false }];
  };
  try {
    let others = 0;
    return alarms()
      .flatMap(one)
      .filter(({ trouble }) => trouble !== null || ++others <= ALARMS_SHOWN);
  } catch {
    return []; // told as a reason for not being ready
  }
}

/**
 * Alarms of a thing that a person marks as seen: they are over with the last of these, when it was
 * marked after the alarm.
 */
const seenWith: Readonly<Record<string, "unmatched" | "difference">> = {
  "unmatched-transaction": "unmatched",
  // Alarms of before, which the journal may have.
  "unexpected-report": "unmatched",
  "sale-without-order": "unmatched",
  "sale-without-order-unclear": "unmatched",
  "receipt-number-missing": "difference",
  "terminal-difference": "difference",
  "gateway-difference": "difference",
};

function isSeen(
  seen: JournalCounts["seen"],
  { id, atMs, data }: KeptEvent & { readonly name: "alarm" },
): boolean {
  if (seen.seenAtMs("alarm", String(id)) !== null) return true;
  const kind = seenWith[data.alarm];
  if (kind === undefined || seen.waiting(kind) !== null) return false;
  return (seen.newestMs(kind) ?? 0) >= atMs;
}

/** Of an alarm about an order that nobody knows the end of: whether that is still so. */
function doubtOf(
  { alarm, transactionId }: EventData<"alarm">,
  { attempts }: JournalCounts,
): "open" | "settled" | null {
  if (alarm !== PAYMENT_UNKNOWN || transactionId === null) return null;
  const attempt = attempts.read(transactionId);
  return attempt && isInDoubt(attempt.state) ? "open" : "settled";
}

interface JournalFacts {
  readonly counts: { readonly inDoubt: number; readonly notHandedOver: number };
  readonly troubles: TpManagerTroubles;
}

/** null: the journal cannot be read. */
function readJournal({ counts, arbiter, handOff, clock }: HealthParts): JournalFacts | null {
  try {
    return {
      counts: {
        inDoubt: counts.attempts.countInDoubt(),
        notHandedOver: counts.handOffs.countPendingHandOffs(),
      },
      troubles: ownTroubles({ handOff, clock, arbiter, ...counts }),
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
