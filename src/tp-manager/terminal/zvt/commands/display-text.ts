import { type Charset, encodeMessage, type FieldInputs } from "../../../../zvt/index.ts";
import type { Command } from "./command.ts";

const lineNames = [
  "text1Line1",
  "text1Line2",
  "text1Line3",
  "text1Line4",
  "text1Line5",
  "text1Line6",
  "text1Line7",
  "text1Line8",
] as const;

/**
 * Display Text 06 E0, docs/zvt.md 6.8: up to eight lines; none switches the display off. `seconds`
 * 0 leaves them until they are replaced. 80 00 ends it.
 */
export function displayText(
  lines: readonly string[],
  { seconds, charset }: { readonly seconds: number; readonly charset: Charset },
): Command {
  const texts: FieldInputs = Object.fromEntries(
    lines.slice(0, lineNames.length).map((line, i) => [lineNames[i], line]),
  );
  return {
    name: "display-text",
    apdu: encodeMessage("display-text", { fields: { duration: seconds, ...texts }, charset }),
    replies: [],
    ends: "answer",
    judged: false,
  };
}
