import { statfs } from "node:fs/promises";
import type { z } from "zod";
import {
  type Condition,
  type ConditionName,
  conditionOfAlarm,
  conditionsOf,
  conditionTable,
  conditionText,
  KEEPS_PAYMENTS,
} from "../../../shared/catalog/conditions.ts";
import { DISK_FREE_MIN_BYTES } from "../../../shared/catalog/findings.ts";
import texts from "../../../shared/catalog/texts-en.json" with { type: "json" };
import { osName, versionNumber } from "../../../shared/program/installation.ts";
import { readOr } from "../../../shared/read-or.ts";
import { isoTime, localTimeZone, timeLeft } from "../../../shared/time.ts";
import type { EventData, KeptEvent } from "../../attempts/event-table.ts";
import { isInDoubt, PAYMENT_UNKNOWN } from "../../attempts/phase-table.ts";
import type { TerminalWatch } from "../events/terminal-watch.ts";
import type { health } from "../openapi/installation.ts";
import { factsOf, notReadyReasons, type SupervisorStatus, type Watched } from "./facts.ts";

/** The answer of `GET /health`; docs/openapi.json says what its members mean. */
export type Health = z.output<typeof health>;
type Note = Health["notes"][number];
type Alarm = Health["alarms"][number];

/** Returns whether a payment can be taken now, or why not, and the state of everything else. */
export async function healthOf(
  watched: Watched,
  terminal: TerminalWatch,
  prompt: EventData<"prompt"> | undefined,
): Promise<Health> {
  const { arbiter, guard, dataDirectory, choresAt, clock } = watched;
  const [facts, disk] = await Promise.all([factsOf(watched), diskOf(dataDirectory)]);
  const { supervisor, journal } = facts;
  const payments = journal?.payments ?? null;
  const inDoubt = payments?.inDoubt ?? 0;
  const conditions = conditionsOf({ supervisor, tpManager: journal?.conditions });
  const full = disk !== null && disk.freeBytes < disk.freeMinBytes;
  const notReady = notReadyReasons(arbiter);
  const reasons = notReady.map(({ says }) => says);
  const notes = [
    ...gapNotes(guard),
    ...(full ? [noteOf("disk-full")] : []),
    ...(inDoubt > 0 ? [noteOf("in-doubt", inDoubt)] : []),
  ];
  return {
    status: reasons.length === 0 ? "Ready" : "NotReady",
    reasons,
    obstacles: notReady,
    warnings: [
      ...notes.map(({ says }) => says),
      ...conditions.filter(({ row }) => row.check !== KEEPS_PAYMENTS).map(conditionText),
    ],
    notes,
    terminal: { ...terminal.now, version: arbiter.terminal.state.identity.version },
    // An unreadable journal is already a not-ready reason, so this failed read adds nothing.
    replaced: readOr(null, () => arbiter.identityCheck.replaced ?? null),
    running: runningOf(arbiter.lease.current, prompt, clock.now()),
    payments,
    outbox: supervisor && outboxOf(supervisor),
    troubles: conditions.map(memberOf),
    alarms: alarmsOf(watched, conditions, supervisor !== null),
    disk,
    clock: {
      now: isoTime(clock.now()),
      timeZone: localTimeZone(),
      uptimeSeconds: Math.round(process.uptime()),
    },
    versions: {
      connector: versionNumber,
      supervisor: supervisor?.version ?? "",
      node: process.versions.node,
      os: osName(),
    },
    dailyChoresAt: choresAt,
    updates: updatesOf(supervisor),
  };
}

function runningOf(
  current: Watched["arbiter"]["lease"]["current"],
  prompt: EventData<"prompt"> | undefined,
  nowMs: number,
): Health["running"] {
  if (!current) return null;
  const { what, orderId, goodsUntilMs = null, endsAtMs } = current;
  // A prompt belongs to one order; the prompt of another order says nothing about this payment.
  const own = orderId === prompt?.orderId ? prompt : undefined;
  return {
    what,
    orderId: orderId ?? null,
    prompt: own?.text ?? null,
    promptTexts: own?.texts ?? null,
    goodsBy: isoTime(goodsUntilMs),
    ...timeLeft(endsAtMs, nowMs),
  };
}

function noteOf(note: Note["note"], count: number | null = null): Note {
  return { note, says: texts.notes[note].says.replace("{count}", String(count)), count };
}

function gapNotes({ open }: Watched["guard"]): Note[] {
  if (!open) return [];
  const gap = noteOf("journal-doubted");
  const first = { ...gap, says: `${gap.says} (${open.because})` };
  const sales = open.ofNoOrder.length;
  return sales === 0 ? [first] : [first, noteOf("sales-unmatched", sales)];
}

function memberOf({ name, row, says, sinceMs, count, orderIds }: Condition) {
  const since = isoTime(sinceMs);
  return { trouble: name, says, todo: row.todo, since, count, orderIds: [...orderIds] };
}

function outboxOf({ outbox }: SupervisorStatus): Health["outbox"] {
  const { pending, parked, sent, oldestAgeMs, paused, ambiguous = null } = outbox;
  const oldestAgeSeconds = oldestAgeMs === null ? null : Math.round(oldestAgeMs / 1000);
  return { pending, parked, sent, oldestAgeSeconds, paused, ambiguous };
}

function updatesOf(supervisor: SupervisorStatus | null): Health["updates"] {
  if (!supervisor?.updates) return null;
  const { asks, channel, checkedMs, fault, freshMs, expiresMs, ...others } = supervisor.updates;
  const { ready, heldBy, heldSinceMs = null, heldUntilMs = null } = others;
  return {
    asked: asks,
    channel,
    lastCheckAt: isoTime(checkedMs),
    lastError: fault,
    metadataAt: isoTime(freshMs),
    metadataExpireAt: isoTime(expiresMs),
    ready,
    heldBy,
    heldSince: isoTime(heldSinceMs),
    heldUntil: isoTime(heldUntilMs),
  };
}

const ALARMS_FOR_MS = 24 * 3_600_000;
const ALARMS_LISTED_MAX = 5;
/** How many of the newest alarms are read, to find the alarm of a condition that lasts long. */
const ALARMS_READ = 200;

/**
 * Returns the alarms to show. A condition's alarm is shown as long as the condition lasts, with the
 * current text; the alarm of an order in doubt until the order is settled. Other alarms are shown
 * for a day, also those of the supervisor's conditions while the supervisor does not answer.
 */
function alarmsOf(
  { hub, clock, journal }: Watched,
  conditions: readonly Condition[],
  supervisorAnswers: boolean,
): Alarm[] {
  const byName = new Map(conditions.map((condition) => [condition.name, condition]));
  const listed = new Set<ConditionName>();
  const one = (event: KeptEvent): Alarm[] => {
    if (event.name !== "alarm") return [];
    const { id, atMs, data } = event;
    const at = isoTime(atMs);
    const name = conditionOfAlarm(data.alarm, data.finding);
    const condition = name && byName.get(name);
    const order = openOrderOf(data, journal);
    if (order === "settled") return [];
    const isKnown =
      name !== undefined && (supervisorAnswers || conditionTable[name].by !== "supervisor");
    const isOld = clock.now() - atMs >= ALARMS_FOR_MS;
    if (!condition && (isKnown || (order !== "open" && isOld))) return [];
    if (!condition || data.orderId !== null || data.transactionId !== null) {
      const endsWhenSeen = order !== "open";
      if (endsWhenSeen && isAcknowledged(journal.acknowledged, event)) return [];
      return [{ id, at, ...data, trouble: null, endsWhenSeen }];
    }
    if (listed.has(condition.name)) return []; // a newer alarm of the same condition is listed
    listed.add(condition.name);
    const { says, todo: _, orderIds: _named, ...current } = memberOf(condition);
    const message = `${says} -> ${condition.row.todo}`;
    return [{ id, at, ...data, message, trouble: current, endsWhenSeen: false }];
  };
  let others = 0;
  // A journal that cannot be read is a reason for not being ready.
  return readOr([], () =>
    hub.source
      .alarms(ALARMS_READ)
      .flatMap(one)
      .filter((one) => one.trouble !== null || ++others <= ALARMS_LISTED_MAX),
  );
}

/**
 * Alarms about items that an operator acknowledges one by one. Such an alarm is over when no item
 * waits and the last acknowledgement came after the alarm.
 */
const kindOfAlarm: Readonly<Record<string, "unmatched" | "difference">> = {
  "unmatched-transaction": "unmatched",
  // Former names of alarms, which the journal may hold.
  "unexpected-report": "unmatched",
  "sale-without-order": "unmatched",
  "sale-without-order-unclear": "unmatched",
  "receipt-number-missing": "difference",
  "terminal-difference": "difference",
  "gateway-difference": "difference",
};

function isAcknowledged(
  marks: Watched["journal"]["acknowledged"],
  { id, atMs, data }: KeptEvent & { readonly name: "alarm" },
): boolean {
  if (marks.acknowledgedAtMs("alarm", String(id)) !== null) return true;
  const kind = kindOfAlarm[data.alarm];
  if (kind === undefined || marks.waiting(kind) !== null) return false;
  return (marks.newestMs(kind) ?? 0) >= atMs;
}

/** Whether the order of an alarm still waits for a person; null: the journal does not say that. */
function openOrderOf(
  { alarm, transactionId }: EventData<"alarm">,
  { attempts, handOffs }: Watched["journal"],
): "open" | "settled" | null {
  if (transactionId === null) return null;
  if (alarm === conditionTable["transactions-parked"].alarm) {
    const { delivery = null } = handOffs.handOff(transactionId) ?? {};
    return delivery === "sent" || delivery === "closed" ? "settled" : null;
  }
  if (alarm !== PAYMENT_UNKNOWN) return null;
  const attempt = attempts.read(transactionId);
  return attempt && isInDoubt(attempt.state) ? "open" : "settled";
}

/** Returns the free space of the data folder; null when the system does not report it. */
async function diskOf(folder: string): Promise<Health["disk"]> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return { freeBytes: bavail * bsize, freeMinBytes: DISK_FREE_MIN_BYTES };
  } catch {
    return null;
  }
}
