import { tagValue } from "../../../../zvt/index.ts";
import type { StoredTransaction, TransactionKind } from "../../memory/memory.ts";
import type { Parts } from "../machine/parts.ts";
import { approvedReport } from "../machine/report.ts";
import { code } from "../machine/sale.ts";
import { printReceipts } from "../receipts/printing.ts";
import { type Command, command } from "./command.ts";

/** Service byte (docs/zvt.md 6.4). */
const WITH_STATUS = 0x01;
const WITHOUT_PRINT = 0x02;

const titles: Readonly<Record<TransactionKind, string>> = {
  payment: "PURCHASE",
  reversal: "REVERSAL",
  refund: "REFUND",
  reservation: "RESERVATION",
  booking: "BOOKING",
};

/**
 * Repeat Receipt 06 20 (docs/zvt.md 6.4): with service byte 03 the way to learn what became of it.
 */
const repeatReceipt = command(0x0620, async (process) => {
  const { parts, request } = process;
  const service = request.fields.serviceByte ?? 0;
  await process.accept();
  if (parts.is("empty-repeat-receipt") || process.fault("bare-repeat"))
    return await process.complete();
  const last = toldTransaction(parts);
  if (!last) return await process.abort(code.notPossible);
  if ((service & WITH_STATUS) !== 0) {
    await process.report(approvedReport(last, parts));
  }
  const selection = tagValue(request.tags, "receiptSelection");
  if ((service & WITHOUT_PRINT) === 0 && (selection ?? 1) <= 3) {
    await printReceipts(process, titles[last.kind], last);
  }
  await process.complete();
});

function toldTransaction({ memory, ledger, options }: Parts): StoredTransaction | undefined {
  if (options.behaviour.tellsUnacknowledged) return memory.last;
  return memory.turnover.findLast(
    ({ ledgerId, state }) => state !== "reversed" && ledger.find(ledgerId)?.final === true,
  );
}

/** Reprint 06 12 (docs/zvt.md 6.4): the receipts of stored transactions, by receipt number. */
const reprint = command(0x0612, async (process) => {
  const { receiptFrom = "", receiptTo = receiptFrom } = process.request.parts;
  if (!/^\d{8}$/.test(receiptFrom + receiptTo)) return await process.refuse(code.messageWrong);
  await process.accept();
  const [from, to] = [Number(receiptFrom), Number(receiptTo)];
  const found = process.parts.memory.turnover.filter(
    ({ receiptNumber }) => receiptNumber >= from && receiptNumber <= to,
  );
  if (found.length === 0) return await process.abort(code.notPossible);
  for (const stored of found) {
    const how = await printReceipts(process, titles[stored.kind], stored);
    if (how !== "printed") return await process.abort(code.printerNotReady);
  }
  await process.complete();
});

export const receiptCommands: readonly Command[] = [repeatReceipt, reprint];
