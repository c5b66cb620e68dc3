import { container, fromHex, type RawTag, tag, tagValue } from "../../../../zvt/index.ts";
import type { CustomerAction, KeyName, Wanted } from "../../cardholder.ts";
import type { Outgoing } from "../machine/parts.ts";
import { type Command, commandWhenLocked, type Process } from "../machine/process.ts";
import { type ZvtCard, zvtCard } from "../machine/report.ts";
import { code } from "../machine/sale.ts";
import { status } from "../machine/texts.ts";

export const displayCommands: readonly Command[] = [
  /** Display text 06 E0 (docs/zvt.md 6.8): `GET /state` shows the text. */
  commandWhenLocked(0x06e0, async (process) => {
    show(process);
    await process.finish();
  }),
  /** Display text with answer 06 E1 (docs/zvt.md 6.8): answered with a key; Abort ends the wait. */
  commandWhenLocked(0x06e1, async (process) => {
    show(process);
    const { tags, fields } = process.request;
    const reportsCard = tagValue(tags, "displayKey") === 1 || fields.beeps === REPORT_CARD;
    const action = await waited(process, reportsCard ? "key-or-card" : "key");
    if (action === "cancelled") return; // the ACK of Abort has ended the command
    if (action.action === "insert") {
      const { card = process.parts.options.behaviour.card } = action;
      process.parts.readCard = { card, inside: true };
    }
    await process.answerWith("key-answer", { parts: { data: Uint8Array.of(keyCode(action)) } });
  }),
  /** Numeric entry 06 E2 (docs/zvt.md 6.8): answered with the typed digits, or with a key. */
  commandWhenLocked(0x06e2, async (process) => {
    const { minLength = 1, maxLength = minLength, mac } = process.request.fields;
    // Only the vendor can make the MAC, without which a register may not ask for digits.
    if (mac === undefined) return await process.refuse(code.textNotAuthentic);
    show(process);
    const action = await waited(process, "digits");
    if (action === "cancelled") return;
    const typed = action.action === "digits" ? action.digits.slice(0, maxLength) : "";
    const data =
      typed.length >= Math.max(minLength, 1)
        ? Uint8Array.from(Buffer.from(typed, "latin1"))
        : Uint8Array.of(keyCode(action));
    await process.answerWith("numeric-answer", { parts: { data } });
  }),
  /** Read Card 06 C0 (docs/zvt.md 6.7): ends with the report 04 0F; a result code means no card. */
  commandWhenLocked(0x06c0, async (process) => {
    const { parts, request } = process;
    await process.accept();
    const { behaviour } = parts.options;
    process.endsWithLine = true;
    const action = await process.untilCancelled(async (signal) => {
      if (request.fields.dialogControl !== REGISTER_SHOWS) await process.status(status.insertCard);
      signal.throwIfAborted();
      await process.reach("card");
      const waitMs = waitMsOf(process);
      const outcome = behaviour.outcome === "by-amount" ? {} : { outcome: behaviour.outcome };
      return await parts.customerAction({ wanted: "card", waitMs, signal, ...outcome });
    });
    if (action === "cancelled" || action.action === "cancel" || action.action === "time-out") {
      return await process.completeWithReport({ fields: { resultCode: code.aborted } });
    }
    if (action.action !== "insert") {
      return await process.completeWithReport({ fields: { resultCode: code.cardUnknown } });
    }
    const card = zvtCard(action.card ?? behaviour.card);
    const wanted = wantedTechnologies(process);
    // Only a card with contacts can stay in the reader.
    parts.readCard = { card: card.name, inside: wanted !== CONTACTLESS };
    await process.completeWithReport(whatWasRead(process, card, wanted));
  }),
];

/** The codes of the keys (docs/zvt.md 6.8). */
const keyCodes: Readonly<Record<KeyName, number>> = {
  ok: 0x0d,
  correct: 0x18,
  stop: 0x1b,
  function: 0x46,
  up: 0x55,
  down: 0x44,
  f1: 0x31,
  f2: 0x32,
  f3: 0x33,
  f4: 0x34,
};
/** The answers when no key was hit: time-out, or a card was inserted (docs/zvt.md 6.8). */
const TIME_OUT = 0x6c;
const CARD_IN = 0xdc;
/** The value of field F9 that lets an inserted card end the command, as a key does. */
const REPORT_CARD = 0xff;

function show({ parts, request }: Process): void {
  parts.displayed = ([1, 2, 3, 4, 5, 6, 7, 8] as const).flatMap(
    (number) => request.fields[`text1Line${number}`] ?? [],
  );
}

/** Waits for the customer as long as field F0 says (docs/zvt.md 5.1); 00 or no F0: without end. */
async function waited(process: Process, wanted: Wanted) {
  const seconds = process.request.fields.duration ?? 0;
  const waitMs = seconds === 0 ? null : seconds * 1_000;
  process.endsWithLine = true;
  return await process.untilCancelled((signal) =>
    process.parts.customerAction({ wanted, waitMs, signal }),
  );
}

function keyCode(action: CustomerAction): number {
  if (action.action === "key") return keyCodes[action.key];
  if (action.action === "time-out") return TIME_OUT;
  return action.action === "insert" ? CARD_IN : keyCodes.stop;
}

/** Values of tag 1F60, and of field 19, that say how a card is read (docs/zvt.md 6.7). */
const STRIPE = 0x01;
const CHIP = 0x02;
const CONTACTLESS = 0x04;
const CHIP_KINDS = [0x10, 0x20];
const CHIP_AND_STRIPE_KIND = 0x50;

/** The bit of tag 1F15 that requests the number of the card's chip (docs/zvt.md 6.7). */
const UID_WANTED = 0x40;

/** The value of field FC if the register displays the prompts itself (docs/zvt.md 6.7). */
const REGISTER_SHOWS = 0x00;

/** Returns how long the terminal waits for a card, in milliseconds; null: without end. */
function waitMsOf({ parts, request }: Process): number | null {
  const seconds = request.parts.timeoutSeconds;
  if (seconds === undefined) return parts.options.pace.cardWaitMs;
  return seconds === 0 ? null : seconds * 1_000;
}

function wantedTechnologies({ request }: Process): number {
  const named = tagValue(request.tags, "technologiesAllowed");
  if (named !== undefined) return named;
  const kind = request.fields.typeByte;
  if (kind === CHIP_AND_STRIPE_KIND) return CHIP | STRIPE;
  return kind !== undefined && CHIP_KINDS.includes(kind) ? CHIP : STRIPE;
}

function whatWasRead({ request }: Process, card: ZvtCard, wanted: number): Outgoing {
  const control = tagValue(request.tags, "readingControl")?.[0] ?? 0;
  const uid = (control & UID_WANTED) !== 0 && (wanted & CONTACTLESS) !== 0;
  // The number of no real chip: the 08 at its start marks a random number.
  const chip = Uint8Array.of(0x08, 0x00, 0x00, card.cardType);
  const track2 = `${card.maskedDigits}D${card.expiry}201EEEEEEEEEE`;
  const tags: RawTag[] = [
    ...((wanted & CHIP) !== 0 ? [container("chipList", [applicationOf(card)])] : []),
    ...(uid ? [tag("uid", chip), tag("cardKind", 0x01)] : []),
  ];
  return {
    fields: (wanted & STRIPE) !== 0 ? { track2 } : {},
    ...(tags.length > 0 ? { tags } : {}),
  };
}

function applicationOf(card: ZvtCard): RawTag {
  const label = tag("applicationLabel", card.label);
  return container("application", [label, tag("aid", fromHex(card.aid))]);
}
