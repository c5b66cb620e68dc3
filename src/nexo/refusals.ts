import { z } from "zod";
import { readMessage } from "./envelope.ts";
import { NexoCodecError } from "./errors.ts";
import { readObject } from "./json-text.ts";
import { responseSchema } from "./message-table.ts";
import { readAdditional } from "./pairs.ts";

/** What the condition of a failed answer means (docs/nexo.md 9.1). */
type ConditionReading =
  | "declined"
  | "cancelled"
  | "terminal-fault"
  /** Another command runs; this one did not begin. */
  | "busy"
  /** The message was not understood; nothing was begun. */
  | "message"
  /** Only as the answer to a question by id. */
  | "running"
  | "not-found";

const conditions: Readonly<Record<string, ConditionReading>> = {
  Aborted: "cancelled",
  Busy: "busy",
  Cancel: "cancelled",
  DeviceOut: "terminal-fault",
  InProgress: "running",
  InsertedCard: "terminal-fault",
  InvalidCard: "declined",
  LoggedOut: "terminal-fault",
  MessageFormat: "message",
  NotAllowed: "terminal-fault",
  NotFound: "not-found",
  PaymentRestriction: "declined",
  Refusal: "declined",
  UnavailableDevice: "terminal-fault",
  UnavailableService: "terminal-fault",
  UnreachableHost: "terminal-fault",
  WrongPIN: "declined",
};

/** Returns the meaning of an error condition; undefined: the list of the protocol lacks it. */
export function conditionOf(condition: string | undefined): ConditionReading | undefined {
  return condition !== undefined && Object.hasOwn(conditions, condition)
    ? conditions[condition]
    : undefined;
}

const refusalSchema = z.object({
  errors: z.array(z.string()).min(1),
  warnings: z.array(z.string()).optional(),
});

const answerSchema = z.object({ Response: responseSchema });

interface Refusal {
  /** The errors, and then what the terminal warns of or notes, which proves nothing. */
  readonly text: string;
  /**
   * "form": a member of the request is missing or not known. "key": it cannot be deciphered, or the
   * answer cannot be protected. null: any other error, which proves nothing.
   */
  readonly about: "form" | "key" | null;
}

const forms = {
  form: /^(?:At [\w.]+(?:, field \w+)?|field \w+): (?:Missing|Unexpected)$/,
  key: /^Nexo Service: crypto error(?: \(\d+\))?$/,
} as const;

function refusalOf(errors: readonly string[], hints: readonly string[]): Refusal {
  const all = (pattern: RegExp): boolean => errors.every((error) => pattern.test(error));
  const about = all(forms.form) ? "form" : all(forms.key) ? "key" : null;
  return { text: [...errors, ...hints].join("; "), about };
}

/**
 * Reads the body with which a terminal refuses a request that it does not understand, always in
 * clear (docs/nexo.md 9.2). null: the text is another one.
 */
export function readRefusal(text: string): Refusal | null {
  try {
    const { data } = refusalSchema.safeParse(readObject(text));
    if (data) return refusalOf(data.errors, data.warnings ?? []);
    const message = readMessage(text, null);
    const { ErrorCondition, AdditionalResponse } =
      answerSchema.safeParse(message.body).data?.Response ?? {};
    if (conditionOf(ErrorCondition) !== "message") return null;
    const pairs = readAdditional(AdditionalResponse);
    const hints = ["warnings", "note"].flatMap((name) => pairs.get(name) ?? []);
    return refusalOf([pairs.get("errors") ?? "no error is named"], hints);
  } catch (error) {
    if (error instanceof NexoCodecError) return null;
    throw error;
  }
}

/** Writes such a body. */
export function writeRefusal(errors: readonly string[], ...warnings: readonly string[]): string {
  const hints = warnings.length === 0 ? {} : { warnings };
  return JSON.stringify({ errors, ...hints, ServiceID: "-NULL-" });
}
