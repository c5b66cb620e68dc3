import { findTags } from "../../../../zvt/index.ts";
import type { Process } from "./process.ts";

/**
 * Tag 1F1F (docs/zvt.md 9.4): the register names the last receipt number it knows, or sends the tag
 * empty when it knows none. Ours one higher: it missed that one, which is reversed and its number
 * used again. Equal, or any other difference: nothing.
 */
export async function reverseMissed(process: Process): Promise<void> {
  const { ledger, memory, options } = process.parts;
  const { autoReversal, receiptNumberCheck } = options.behaviour;
  if (autoReversal && !receiptNumberCheck) return;
  const named = findTags(process.request.tags, "lastReceiptNumber")[0]?.value;
  const { last } = memory;
  if (typeof named !== "string" || !last) return;
  const missed =
    named === "" ? isOnly(last.receiptNumber, process) : follows(named, last.receiptNumber);
  if (!missed || ledger.remaining(last.ledgerId) === 0) return;
  await process.pause("reversal", options.pace.reversalMs);
  memory.together(() => {
    ledger.takeBack(last.ledgerId, "register-missed-it", { trace: memory.takeTrace() });
    memory.forgetLast();
  });
}

function follows(named: string, receiptNumber: number): boolean {
  const known = Number(named);
  return receiptNumber === (known === 9_999 ? 1 : known + 1);
}

/** A register that knows none has missed the last one only when it was the very first. */
function isOnly(receiptNumber: number, { parts }: Process): boolean {
  return receiptNumber === parts.options.behaviour.firstReceiptNumber;
}
