import type { Language } from "../../options.ts";
import type { Stage } from "../../screen.ts";
import texts from "../../texts.json" with { type: "json" };

/** The texts of the customer display for each intermediate status (docs/zvt.md 11.3). */
const statusTexts: Readonly<Record<string, Readonly<Record<Language, string>>>> = texts.status;

export const status = {
  usePinPad: 0x01,
  waitingForHost: 0x04,
  reversing: 0x05,
  insertCard: 0x0a,
  wrongPin: 0x15,
  pleaseWait: 0x17,
  declined: 0x1d,
  serviceMode: 0x1a,
  /** The statuses that only terminals of Ingenico send (docs/zvt.md 11.3). */
  paidRemoveCard: 0xa1,
  cancelled: 0xa2,
} as const;

/** The stage that the terminal's own display shows with each intermediate status. */
export const stageOfStatus: Readonly<Record<number, Stage>> = {
  [status.usePinPad]: "pin",
  [status.waitingForHost]: "host",
  [status.reversing]: "reversing",
  [status.insertCard]: "card",
  [status.wrongPin]: "wrong-pin",
  [status.pleaseWait]: "wait",
  [status.declined]: "declined",
  [status.cancelled]: "cancelled",
};

export function statusText(code: number, language: Language): string {
  return statusTexts[code]?.[language] ?? "";
}
