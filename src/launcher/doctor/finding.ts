export type Verdict = "ok" | "warn" | "fail";

/** One line of the doctor. */
export interface Finding {
  readonly check: string;
  readonly verdict: Verdict;
  readonly says: string;
  /** Advice to the operator, also where all is well; null when there is nothing to do. */
  readonly todo: string | null;
}

export function good(check: string, says: string, todo: string | null = null): Finding {
  return { check, verdict: "ok", says: oneLine(says), todo };
}

export function doubtful(check: string, says: string, todo: string): Finding {
  return { check, verdict: "warn", says: oneLine(says), todo };
}

export function bad(check: string, says: string, todo: string): Finding {
  return { check, verdict: "fail", says: oneLine(says), todo };
}

/** A refusal as a finding's two parts: its first line names the trouble, the rest is the advice. */
export function inTwo(message: string, otherwise: string): [says: string, todo: string] {
  const [says = "", ...todo] = message.split("\n");
  return [says, todo.length === 0 ? otherwise : oneLine(todo.join(" "))];
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
