import { z } from "zod";
import type { SearchPlace } from "../orders/payment-search.ts";

/** Of a cursor that continues in the archive. */
const ARCHIVE = "archive-";

const cursorWords = `must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`;
/** A place in the listing of attempts, which goes on in the archive. */
export const cursor = z
  .string(cursorWords)
  .regex(new RegExp(`^(${ARCHIVE})?[1-9]\\d{0,15}$`), cursorWords)
  .transform((text) => {
    const archived = text.startsWith(ARCHIVE);
    return { archived, before: Number(archived ? text.slice(ARCHIVE.length) : text) };
  })
  .refine(({ before }) => before <= Number.MAX_SAFE_INTEGER, cursorWords)
  .meta({ description: "The next-cursor of the page before." });

/** A place as {@link cursor} reads it. */
export function cursorOf({ archived, before }: SearchPlace): string {
  return `${archived ? ARCHIVE : ""}${before ?? Number.MAX_SAFE_INTEGER}`;
}
