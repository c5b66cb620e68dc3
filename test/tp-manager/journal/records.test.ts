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

test("a record with a name that is unique for ever is found at any time", () => {
  const { records, terminalLog } = new Journal(join(temporaryFolder(), "journal.db"));
  const named = { receiptNumber: "4sim.S1", traceNumber: null, namedAt: "2026-01-15T12:00:00Z" };
  const reports = [named, { ...named, receiptNumber: "4sim.S2" }, { receiptNumber: "4" }];
  for (const [atMs, one] of reports.entries())
    terminalLog.keepUnmatched({ report: report(one), identity, atMs, isOfNoOrder: false });
  const again = report({ ...named, localTime: "235959" });
  for (const known of [records.sharingName(again, 0), records.sharingNumber(again, 0)]) {
    expect(known.map(({ atMs }) => atMs)).toEqual([0]);
  }
});
