import { join } from "node:path";
import { expect, test } from "vitest";
import { Journal } from "../../../src/tp-manager/journal/journal.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { identity, report } from "../../support/terminals/reports.ts";

test("a record of the same second shares a name, and with another trace no number", () => {
  const { records, terminalLog } = new Journal(join(temporaryFolder(), "journal.db"));
  const reports = [
    report({ traceNumber: "000013" }),
    report({ localTime: "130006" }),
    report({ traceNumber: null, receiptNumber: null }),
  ];
  for (const [atMs, one] of reports.entries())
    terminalLog.keepUnmatched({ report: one, identity, atMs, isOfNoOrder: false });
  const found = (rows: readonly { readonly atMs: number }[]) => rows.map(({ atMs }) => atMs);
  expect(found(records.sharingName(report(), 0))).toEqual([0, 1, 2]);
  expect(found(records.sharingNumber(report(), 0))).toEqual([1, 2]);
  expect(found(records.sharingNumber(report({ traceNumber: null }), 0))).toEqual([0, 2]);
});
