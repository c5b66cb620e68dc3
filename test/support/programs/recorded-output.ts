import type { Output } from "../../../src/launcher/output.ts";

/** An output of the launcher that adds each line to `lines`, its columns separated by a space. */
export function recordedOutput(lines: string[]): Output {
  const keep = (...parts: readonly unknown[]): void => void lines.push(parts.join(" "));
  return { row: keep, finding: keep, text: keep, note: keep, fault: keep, heading: keep };
}
