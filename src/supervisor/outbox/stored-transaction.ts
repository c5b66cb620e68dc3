import { type Transaction, transactionSchema } from "../../shared/transaction.ts";

/** The stored transaction; undefined when the file was damaged or written by another program. */
export function readStored(content: string): Transaction | undefined {
  try {
    return transactionSchema.parse(JSON.parse(content));
  } catch {
    return undefined; // its next try parks it with an alarm
  }
}
