import { type FindingCode, type FindingRow, findingTable, type Verdict } from "./finding-table.ts";

type FindingValues = Readonly<Record<string, string | number>>;

/** One line of the doctor. */
export interface Finding {
  readonly check: string;
  /** Of `findingTable`; a trouble's name; or the error code that a payment would be answered. */
  readonly code: string;
  readonly verdict: Verdict;
  /** For the terminal. */
  readonly says: string;
  /** Advice for the terminal, also where all is well; null when there is nothing to do. */
  readonly todo: string | null;
  /** The values that the words were made with, for sentences in other languages. */
  readonly values: FindingValues;
}

type NamesIn<T> = T extends `${string}{${infer N}}${infer R}` ? N | NamesIn<R> : never;
type WordsOf<C extends FindingCode> = (typeof findingTable)[C]["check" | "says" | "todo"];
type NamesOf<C extends FindingCode> = C extends FindingCode ? NamesIn<WordsOf<C>> : never;
type ValuesOf<C extends FindingCode> = Readonly<Record<NamesOf<C>, string | number>>;

/** A line of the table, with its values in it. */
export function finding<C extends FindingCode>(code: C, values: ValuesOf<C>): Finding {
  const row: FindingRow = findingTable[code];
  const told = Object.entries<string | number>(values).map(
    ([name, value]) => [name, typeof value === "string" ? oneLine(value) : value] as const,
  );
  const byName: FindingValues = Object.fromEntries(told);
  const { verdict, todo } = row;
  const [check, says] = [filled(row.check, byName), filled(row.says, byName)];
  return { check, code, verdict, says, todo: todo ? filled(todo, byName) : null, values: byName };
}

/** A line that has its code and words from another table. */
export function passedOn(
  told: Pick<Finding, "check" | "code" | "says" | "todo">,
  verdict: Verdict,
  values: FindingValues = {},
): Finding {
  return { ...told, verdict, says: oneLine(told.says), values };
}

/** A refusal in its two parts: its first line names the trouble, the rest is the advice. */
export function inTwo(
  message: string,
  otherwise: string,
): { readonly detail: string; readonly advice: string } {
  const [detail = "", ...advice] = message.split("\n");
  return { detail, advice: advice.length === 0 ? otherwise : oneLine(advice.join(" ")) };
}

function filled(text: string, values: FindingValues): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
