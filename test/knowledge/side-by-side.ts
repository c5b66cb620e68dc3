import { nameOf } from "./scope.ts";
import type { Timeline } from "./timeline.ts";
import { twinOf, type Walked, type Walker } from "./walker.ts";

/** A violation, and next to it a world that looked the same in which nothing was wrong. */
export async function pairOf(
  walker: Walker,
  walked: Walked,
  found: Walked["found"][number],
): Promise<string> {
  const { scope } = walked;
  const { law, order, timeline, seq } = found;
  const head = `### ${scope.family}, ${nameOf(scope)}: ${law}`;
  const twin = twinOf(walked, found);
  const other = twin ? (await walker.play(scope, twin)).timeline : undefined;
  return [
    `${head} (${order})`,
    "",
    ...worldOf("The world", timeline),
    ...(other
      ? worldOf("A world that shows the same until then", other)
      : ["No world of this scope shows the same until then."]),
    "Heard and done until then:",
    "```",
    // With the line of the verdict itself, which is written after the verdict.
    ...timeline.lines
      .filter((_, at) => (timeline.lines[at - 1]?.seq ?? 0) <= seq)
      .map(({ text }) => text),
    "```",
  ].join("\n");
}

function worldOf(title: string, { faults, choices, charges }: Timeline): string[] {
  const day = choices[0]?.taken ?? "";
  const bank = charges
    .filter(({ order, isReversal }) => order !== "earlier" && !isReversal)
    .map(({ order, attempt, until, isAsked }) => {
      const parts = [attempt > 0 ? `${order} #${attempt}` : order];
      if (!isAsked) parts.push("another amount");
      if (until !== null) parts.push("given back");
      return parts.join(", ");
    });
  return [
    `${title}: ${day}`,
    ...faults.map((fault) => `- ${fault}`),
    `- the bank: ${bank.join("; ") || "no charge"}`,
    "",
  ];
}
