import { type Tagged, tagValue } from "./tagged-message.ts";

/** The state of an action, as AE tells it (docs/concert.md 4.4). */
type ActionResult = "performed" | "not-performed" | "taken-into-account";

const results: ReadonlyMap<string, ActionResult> = new Map([
  ["10", "performed"],
  ["01", "not-performed"],
  ["11", "taken-into-account"],
]);

/** undefined: AE is missing or has a value that nobody has described. */
export function actionResult(tags: readonly Tagged[]): ActionResult | undefined {
  const state = tagValue(tags, "AE");
  return state === undefined ? undefined : results.get(state);
}
