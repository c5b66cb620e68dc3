import { z } from "zod";

/** A place in the life of one database. */
const storeMarkSchema = z.object({
  /** Identity of the database, made at its creation. */
  store: z.string(),
  /** A stretch of its life, from one start or nightly copy to the next: no copy has a later one. */
  session: z.string(),
  /** Grows with what is written, and is told only when that is on disk. */
  count: z.int().min(0),
});
export type StoreMark = z.infer<typeof storeMarkSchema>;

/**
 * The two stores of one exchange between the programs, as one of them sees them
 * (docs/rules/17-loss.md).
 */
export const storeWordSchema = z.object({
  /** Of the sender. null: it has not begun. */
  mine: storeMarkSchema.nullable(),
  /** The last mark of the receiver that the sender remembers. */
  yours: storeMarkSchema.nullable(),
  /** The last `yours` that the sender heard and has judged, on disk. */
  answered: storeMarkSchema.nullable(),
  /** The sender's database does not hold what `answered` names: it was lost or restored. */
  lacks: z.boolean(),
});
export type StoreWord = z.infer<typeof storeWordSchema>;

export function sameMark(a: StoreMark | null, b: StoreMark | null): boolean {
  return a?.store === b?.store && a?.session === b?.session && a?.count === b?.count;
}
