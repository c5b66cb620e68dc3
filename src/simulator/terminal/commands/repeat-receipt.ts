import { tagValue } from "../../../tp-manager/terminal/zvt/codec/index.ts";
import type { Parts } from "../machine/parts.ts";
import { printReceipts } from "../machine/printing.ts";
import { approvedReport } from "../machine/report.ts";
import type { StoredTransaction, TransactionKind } from "../memory/memory.ts";
import type { Command } from "./command.ts";

/** Service byte (zvt.md 6.4). */
const WITH_STATUS = 0x01;
const WITHOUT_PRINT = 0x02;

const titles: Readonly<Record<TransactionKind, string>> = {
  payment: "PURCHASE",
  reversal: "REVERSAL",
  refund: "REFUND",
  reservation: "RESERVATION",
  booking: "BOOKING",
};

/** Repeat Receipt 06 20 (zvt.md 6.4): with service byte 03 the way to learn what became of it. */
export const repeatReceipt: Command = {
  control: 0x0620,
  async run(process) {
    const { parts, request } = process;
    const service = request.fields.serviceByte ?? 0;
    await process.accept();
    if (process.fault("bare-repeat")) return await process.complete();
    const last = toldTransaction(parts);
    if (!last) return await process.abort(NO_TRANSACTION);
    if ((service & WITH_STATUS) !== 0) {
      await process.report(approvedReport(last, parts.options.device));
    }
    const selection = tagValue(request.tags, "receiptSelection");
    if ((service & WITHOUT_PRINT) === 0 && (selection ?? 1) <= 3) {
      await printReceipts(process, titles[last.kind], last);
    }
    await process.complete();
  },
};

function toldTransaction({ memory, ledger, options }: Parts): StoredTransaction | undefined {
  if (options.behaviour.tellsUnacknowledged) return memory.last;
  return memory.turnover.findLast(
    ({ ledgerId, state }) => state !== "reversed" && ledger.find(ledgerId)?.final === true,
  );
}

/** There is nothing to repeat: function not possible (zvt.md 11.4). */
const NO_TRANSACTION = 0x83;
