import type { ShortestBreach } from "./walk.ts";

/** A breach as people read it: the law, what broke it, and each step of the shortest way there. */
export function storyOf({ law, what, story }: ShortestBreach): string {
  const steps = story.map((step, at) => `  ${String(at + 1).padStart(2)}. ${step}`);
  return [`${law}: ${what}`, ...steps].join("\n");
}
