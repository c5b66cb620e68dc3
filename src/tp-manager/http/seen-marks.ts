import { isoTime } from "../../shared/time.ts";
import type { SeenKind } from "../attempts/findings.ts";
import type { CallContext } from "./call-context.ts";
import { oneOf } from "./input.ts";

/** Of a list: those only that wait for a person. */
export const onlyWaiting = oneOf(["yes"]).optional().describe("Those only that wait for a person.");

/** When a person marked it; null: nobody did. */
export function seenAtOf(
  seen: CallContext["seen"],
  kind: SeenKind,
  { id }: { readonly id: number | null },
): string | null {
  return id === null ? null : isoTime(seen.seenAtMs(kind, String(id)));
}
