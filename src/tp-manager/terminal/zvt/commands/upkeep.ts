import { encodeMessage, tag } from "../../../../zvt/index.ts";
import { anyTime, type Command } from "./command.ts";

/** End of Day 06 50, docs/zvt.md 6.4: the terminal hands its turnover in and reports the totals. */
export function endOfDay(password: string): Command {
  return {
    name: "end-of-day",
    apdu: encodeMessage("end-of-day", { parts: { password } }),
    replies: ["status-information", ...anyTime],
    ends: "completion",
    judged: false,
  };
}

/** Turnover Totals 06 10, docs/zvt.md 6.4: the totals of an end of day, and nothing is closed. */
export function turnoverTotals(password: string): Command {
  return {
    name: "turnover-totals",
    apdu: encodeMessage("turnover-totals", { parts: { password } }),
    replies: ["status-information", ...anyTime],
    ends: "completion",
    judged: false,
  };
}

/** Initialisation 06 93, docs/zvt.md 6.4; the cure of status 51 (docs/zvt.md 11.5). */
export function initialisation(password: string): Command {
  return {
    name: "initialisation",
    apdu: encodeMessage("initialisation", { parts: { password } }),
    replies: ["status-information", ...anyTime],
    ends: "completion",
    judged: false,
  };
}

/** Tag 1B, docs/zvt.md 6.4. */
const diagnosisTypes = { line: 1, extended: 2, configuration: 3, emv: 4 } as const;
type DiagnosisType = keyof typeof diagnosisTypes;

/** Diagnosis 06 70, docs/zvt.md 6.4. Always with its type: card complete terminals require it. */
export function diagnosis(type: DiagnosisType): Command {
  return {
    name: "diagnosis",
    apdu: encodeMessage("diagnosis", { tags: [tag("diagnosisType", diagnosisTypes[type])] }),
    replies: ["status-information", ...anyTime],
    ends: "completion",
    judged: false,
  };
}

/** Set Date and Time 06 91, docs/zvt.md 6.4: local time. */
export function setDateTime(password: string, nowMs: number): Command {
  const now = new Date(nowMs);
  const digits = (...numbers: readonly number[]): string =>
    numbers.map((number) => String(number).padStart(2, "0")).join("");
  return {
    name: "set-date-time",
    apdu: encodeMessage("set-date-time", {
      parts: { password },
      fields: {
        dateYYMMDD: digits(now.getFullYear() % 100, now.getMonth() + 1, now.getDate()),
        time: digits(now.getHours(), now.getMinutes(), now.getSeconds()),
      },
    }),
    replies: anyTime,
    ends: "completion",
    judged: false,
  };
}

/** Reset Terminal 06 18, docs/zvt.md 6.4: 80 00, 06 0F, then it restarts. */
export function resetTerminal(): Command {
  return {
    name: "reset-terminal",
    apdu: encodeMessage("reset-terminal"),
    replies: anyTime,
    ends: "completion",
    judged: false,
  };
}

/** Log-Off 06 02, docs/zvt.md 6.4: no completion; the terminal may be used by others then. */
export function logOff(): Command {
  return {
    name: "log-off",
    apdu: encodeMessage("log-off"),
    replies: [],
    ends: "answer",
    judged: false,
  };
}

/** Instead of a receipt number, docs/zvt.md 6.3. In an answer it means: none. */
export const NO_RECEIPT_NUMBER = "FFFF";

/**
 * Open pre-authorisations: a partial reversal 06 23 that names none (docs/zvt.md 6.3). The normal
 * answer is 06 1E B8. The empty container asks for the whole list.
 */
export function openPreAuths(): Command {
  return {
    name: "partial-reversal",
    apdu: encodeMessage("partial-reversal", {
      fields: { receiptNumber: NO_RECEIPT_NUMBER },
      tags: [],
    }),
    replies: anyTime,
    ends: "completion",
    judged: false,
  };
}
