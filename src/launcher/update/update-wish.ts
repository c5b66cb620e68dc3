import { NAME_CHARACTERS_MAX, plainForm, readableForm } from "../../shared/masking/legible.ts";
import { containsPan } from "../../shared/masking/mask.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";

/** The meaning of the words behind `launch.sh update`. */
export type UpdateWish =
  | { readonly what: "tell" | "check" | "now" | "unhold" | "back" | "apply" }
  /** `untilMs` null: until somebody ends it. `by`: the person; missing: the user of the machine. */
  | { readonly what: "hold"; readonly untilMs: number | null; readonly by: string | undefined }
  | { readonly what: "delivery"; readonly folder: string };

/** The options of `update`; `apply` is the keep-alive's own word. */
export const updateOptions = {
  check: { type: "boolean", default: false },
  now: { type: "boolean", default: false },
  hold: { type: "boolean", default: false },
  unhold: { type: "boolean", default: false },
  back: { type: "boolean", default: false },
  apply: { type: "boolean", default: false },
  until: { type: "string" },
  by: { type: "string" },
  delivery: { type: "string" },
} as const;

interface UpdateValues extends Readonly<Record<(typeof words)[number], boolean>> {
  readonly until?: string | undefined;
  readonly by?: string | undefined;
  readonly delivery?: string | undefined;
}

const words = ["check", "now", "hold", "unhold", "back", "apply"] as const;

/** Throws {@link ProgramExit} 64 when words do not go together. */
export function readUpdateWish(values: UpdateValues, command: string): UpdateWish {
  const { until, by, delivery } = values;
  const given = words.filter((word) => values[word]);
  const all = [...given, ...(delivery === undefined ? [] : (["delivery"] as const))];
  const [one, other] = all;
  if (one !== undefined && command !== "update") throw wrong(`--${one} belongs to update`);
  if (other !== undefined) throw wrong(`--${one} and --${other} exclude each other`);
  if (until !== undefined && one !== "hold") throw wrong("--until belongs to update --hold");
  if (by !== undefined && one !== "hold") throw wrong("--by belongs to update --hold");
  if (by !== undefined && !isName(by)) throw wrong("--by must name a person");
  if (delivery === "") throw wrong("--delivery must name a folder");
  if (delivery !== undefined) return { what: "delivery", folder: delivery };
  if (one === "hold") {
    return { what: "hold", untilMs: until === undefined ? null : dayMs(until), by };
  }
  return { what: one === undefined || one === "delivery" ? "tell" : one };
}

/** The beginning of a day on this machine. */
function dayMs(text: string): number {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00`) : Number.NaN;
  if (Number.isNaN(ms)) throw wrong("--until must name a day, such as 2026-01-31");
  return ms;
}

function isName(text: string): boolean {
  const isLegible = plainForm.test(text) && readableForm.test(text);
  return text.length <= NAME_CHARACTERS_MAX && isLegible && !containsPan(text);
}

function wrong(message: string): ProgramExit {
  return new ProgramExit(exitCodes.usage, `${message}\nTry ./launch.sh --help.`);
}
