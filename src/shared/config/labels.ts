import { z } from "zod";
import { maskPansInText } from "../masking/mask.ts";

const LABELS_MAX = 8;

const label = z.string().regex(/^[a-z0-9-]{1,32}$/);

/** The labels of a kiosk, which every document for its fleet carries (docs/fleet.md 5.1). */
export const labelsSchema = z
  .record(label, label)
  .refine((labels) => Object.keys(labels).length <= LABELS_MAX && !holdsCardNumber(labels));

/**
 * Whether a card number stands in the labels: in a pair, or in keys, values or whole pairs that
 * follow each other, in the order of a document or sorted by their keys, as Prometheus has them.
 */
function holdsCardNumber(labels: Readonly<Record<string, string>>): boolean {
  const pairs = Object.entries(labels);
  const texts = [pairs, pairs.toSorted()].flatMap((all) => [
    ...all.map((pair) => pair.join("-")),
    all.flat().join("-"),
    all.map(([key]) => key).join("-"),
    all.map(([, value]) => value).join("-"),
  ]);
  return texts.some((text) => maskPansInText(text) !== text);
}

/** Reads labels as the setup file has them: key=value, separated by blanks or commas. */
export const labelsText = z.string().transform((value, context) => {
  const parts = (value.match(/[^ ,]+/g) ?? []).map((pair) => pair.split("="));
  const labels = Object.fromEntries(parts) as Record<string, string>;
  const isWhole = parts.every((part) => part.length === 2 && label.safeParse(part[0]).success);
  const isOnce = Object.keys(labels).length === parts.length;
  if (isWhole && isOnce && labelsSchema.safeParse(labels).success) return labels;
  // The message repeats no label, which may be a card number.
  const message =
    `must list at most ${LABELS_MAX} labels as key=value, keys and values of 1 to 32 small ` +
    "letters, digits and hyphens, each key once and no card number";
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});
