import { nameOf } from "./scope.ts";
import type { Story } from "./story.ts";
import { twinOf, type Walked, type Walker } from "./walker.ts";

/** A violation, and next to it a world that looked the same in which nothing was wrong. */
export async function pairOf(
  walker: Walker,
  walked: Walked,
  found: Walked["found"][number],
): Promise<string> {
  const { scope } = walked;
  const { law, order, story, seq } = found;
  const head = `### ${scope.family}, ${nameOf(scope)}: ${law}`;
  const twin = twinOf(walked, found);
  const other = twin ? (await walker.play(scope, twin)).story : undefined;
  return [
    `${head} (${order})`,
    "",
    ...worldOf("The world", story),
    ...(other
      ? worldOf("A world that looks the same until then", other)
      : ["No world of this scope looks the same until then."]),
    "Heard and done until then:",
    "```",
    // With the line of the verdict itself, which is written after the verdict.
    ...story.lines
      .filter((_, at) => (story.lines[at - 1]?.seq ?? 0) <= seq)
      .map(({ text }) => text),
    "```",
  ].join("\n");
}

function worldOf(title: string, { faults, choices, charges }: Story): string[] {
  const day = choices[0]?.taken ?? "";
  const bank = charges
    .filter(({ order, isReversal }) => order !== "earlier" && !isReversal)
    .map(({ order, attempt, until, isAsked }) => {
      const words = [attempt > 0 ? `${order} #${attempt}` : order];
      if (!isAsked) words.push("another amount");
      if (until !== null) words.push("given back");
      return words.join(", ");
    });
  return [
    `${title}: ${day}`,
    ...faults.map((fault) => `- ${fault}`),
    `- the bank: ${bank.join("; ") || "no charge"}`,
    "",
  ];
}
