import type { ShortestBreach } from "./walk.ts";

/** A breach as people read it: the law, what broke it, and each step of the shortest way there. */
export function breachText({ law, what, steps }: ShortestBreach): string {
  const lines = steps.map((step, at) => `  ${String(at + 1).padStart(2)}. ${step}`);
  return [`${law}: ${what}`, ...lines].join("\n");
}
