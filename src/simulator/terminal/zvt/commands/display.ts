import { tagValue } from "../../../../zvt/index.ts";
import type { CustomerAction, KeyName, Wanted } from "../../cardholder.ts";
import type { Process } from "../machine/process.ts";
import { code } from "../machine/sale.ts";
import { type Command, commandWhenLocked } from "./command.ts";

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
/** Key codes of an answer that are no keys (docs/zvt.md 6.8). */
const TIME_OUT = 0x6c;
const CARD_IN = 0xdc;
/** Field F9: report an inserted card too. */
const TELL_CARD = 0xff;

/** Display text 06 E0 (docs/zvt.md 6.8); kept for `GET /state`. */
const displayText = commandWhenLocked(0x06e0, async (process) => {
  show(process);
  await process.finish();
});

/** Display text with answer 06 E1 (docs/zvt.md 6.8): the answer is the key. Abort ends it. */
const displayTextInput = commandWhenLocked(0x06e1, async (process) => {
  show(process);
  const { tags, fields } = process.request;
  const tellsCard = tagValue(tags, "displayKey") === 1 || fields.beeps === TELL_CARD;
  const action = await waited(process, tellsCard ? "key-or-card" : "key");
  if (action === "cancelled") return; // 80 00 to the abort has ended it
  if (action.action === "insert") {
    const { card = process.parts.options.behaviour.card } = action;
    process.parts.readCard = { card, inside: true };
  }
  await process.answerWith("key-answer", { parts: { data: Uint8Array.of(keyCode(action)) } });
});

/** Numeric entry 06 E2 (docs/zvt.md 6.8): the answer is the digits, or a key. */
const displayTextNumeric = commandWhenLocked(0x06e2, async (process) => {
  const { minLength = 1, maxLength = minLength, mac } = process.request.fields;
  // The value is the vendor's; a register that has none may not ask for digits.
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
});

function show({ parts, request }: Process): void {
  parts.displayed = ([1, 2, 3, 4, 5, 6, 7, 8] as const).flatMap(
    (number) => request.fields[`text1Line${number}`] ?? [],
  );
}

/**
 * The time of field F0 replaces T3 (docs/zvt.md 5.1); 00 and none wait until the text is replaced.
 */
async function waited(process: Process, wanted: Wanted) {
  const seconds = process.request.fields.duration ?? 0;
  const waitMs = seconds === 0 ? null : seconds * 1_000;
  return await process.untilCancelledOrGone((signal) =>
    process.parts.customerActs({ wanted, waitMs, signal }),
  );
}

function keyCode(action: CustomerAction): number {
  switch (action.action) {
    case "key":
      return keyCodes[action.key];
    case "time-out":
      return TIME_OUT;
    case "insert":
      return CARD_IN;
    default:
      return keyCodes.stop;
  }
}

export const displayCommands: readonly Command[] = [
  displayText,
  displayTextInput,
  displayTextNumeric,
];
