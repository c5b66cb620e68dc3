import { createHash } from "node:crypto";
import type { RecallOrder, TransactionReport } from "../terminal/terminal.ts";
import type { Attempt } from "./payment.ts";

/**
 * The reference of an attempt, which some terminals return with its result. Its ten characters end
 * in two check characters, so that data of another register are not taken for our reference
 * (docs/rules/30-whose-result.md). Pure.
 */
const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const NAME_CHARACTERS = 8;
const CHECK_CHARACTERS = 2;
const FORM = new RegExp(`^[${LETTERS}]{${NAME_CHARACTERS + CHECK_CHARACTERS}}$`);

export function referenceOf(transactionId: string): string {
  // The reference begins with a letter, because other registers and terminals use digits.
  const name = `K${lettersOf(transactionId, NAME_CHARACTERS - 1)}`;
  return name + checkOf(name);
}

/** Returns the reference of one reversal of an attempt, which begins at this moment. */
export function reversalReferenceOf(transactionId: string, beganAtMs: number): string {
  return referenceOf(`reversal ${beganAtMs} ${transactionId}`);
}

/** Returns by which reference the terminal got the command of an attempt that is in doubt. */
export function recallOf({ state, transactionId, baseline }: Attempt): RecallOrder {
  const own = referenceOf(transactionId);
  if ("sale" in state && "baseline" in state) {
    const { reference = own, baseline: before } = state;
    return { command: "reversal", reference, registerId: before.registerId };
  }
  return { command: "payment", reference: own, registerId: baseline?.registerId };
}

/** Whether a text has the form of a reference that this connector makes for an attempt. */
export function isReference(text: string): boolean {
  const name = text.slice(0, NAME_CHARACTERS);
  return FORM.test(text) && name.startsWith("K") && text === name + checkOf(name);
}

/** Whether a result carries a reference that this connector made. */
export function namesOurs({ reference }: Pick<TransactionReport, "reference">): boolean {
  return reference != null && isReference(reference);
}

function checkOf(name: string): string {
  return lettersOf(`reference ${name}`, CHECK_CHARACTERS);
}

function lettersOf(text: string, count: number): string {
  const hash = createHash("sha256").update(text).digest();
  return Array.from(hash.subarray(0, count), (byte) => LETTERS[byte % LETTERS.length]).join("");
}
