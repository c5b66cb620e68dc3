/** The end of day, from open pre-authorisations to the totals (docs/zvt.md 6.3, 6.4). */

import { findTags, type Message, type Totals } from "../../../zvt/index.ts";
import { coded, codeOf, codeText, isGoodCompletion } from "../../../zvt/tables/result-codes.ts";
import type { ClosingTotals, TelecollectionEnd } from "../terminal.ts";
import { endOfDay, NO_RECEIPT_NUMBER, openPreAuths } from "./commands/commands.ts";
import { PrintCollector } from "./report/print-collector.ts";
import type { RunCommand } from "./session/session.ts";
import type { ExchangeEnd } from "./session/session-state.ts";
import type { ZvtContext, ZvtOptions } from "./zvt-options.ts";

const PRE_AUTHORISATIONS_OPEN = 0xb8;
const GOOD_STATUS = "0";

/** Runs the end of day. Never rejects for anything that happens on the wire. */
export async function telecollection(
  run: RunCommand,
  { options, log }: ZvtContext,
): Promise<TelecollectionEnd> {
  const asked = await run(openPreAuths());
  if (asked.end === "lost" || asked.end === "not-sent") {
    return { end: "refused", code: "no-end", text: asked.problem };
  }
  const receiptNumbers = openReceiptNumbers(asked.message);
  if (receiptNumbers.length > 0) return { end: "open-pre-authorisations", receiptNumbers };
  if (codeOf(asked.message) !== PRE_AUTHORISATIONS_OPEN) {
    // A terminal without this question answers 84 83, a locked one the code of its lock. The end of
    // day goes on, because it may unlock the terminal (docs/zvt.md 5.3).
    const code = codeText(codeOf(asked.message));
    log.info({ code }, "the terminal refused to list its open pre-authorisations");
  }
  const prints = new PrintCollector();
  let settlement: Message | undefined;
  const end = await run(endOfDay(options.password), {
    message: (message) => {
      if (message.name === "status-information") settlement = message;
      else prints.add(message);
    },
  });
  return endOf(end, settlement, prints.ticket, options);
}

/** Returns the numbers of open pre-authorisations, from field 87 and tag 23 (docs/zvt.md 6.3). */
function openReceiptNumbers({ name, parts, fields, tags }: Message): readonly string[] {
  if (name !== "abort-from-pt" || parts.resultCode !== PRE_AUTHORISATIONS_OPEN) return [];
  const listed = findTags(tags, "openPreAuthorisations", "receiptNumber").map(({ value }) => value);
  const numbers = [fields.receiptNumber, ...listed].filter(
    (number): number is string => typeof number === "string" && number !== NO_RECEIPT_NUMBER,
  );
  return [...new Set(numbers)];
}

function endOf(
  end: ExchangeEnd,
  settlement: Message | undefined,
  ticket: string,
  options: ZvtOptions,
): TelecollectionEnd {
  const { language } = options;
  switch (end.end) {
    case "not-sent":
      return { end: "refused", code: "link", text: end.problem };
    case "refused":
      return { end: "refused", ...coded(codeOf(end.message), language) };
    case "lost":
      return { end: "lost", code: "no-end", text: end.problem };
    case "aborted":
      return { end: "failed", ...coded(codeOf(end.message), language) };
    case "answered":
    case "completed": {
      const code = end.message.fields.resultCode ?? settlement?.fields.resultCode ?? 0;
      if (!isGoodCompletion(code)) return { end: "failed", ...coded(code, language) };
      const totals = settlement && totalsOf(settlement);
      const applications = applicationsOf(settlement, options);
      return { end: "completed", applications, ...(totals ? { totals } : {}), ticket };
    }
  }
}

/** Returns the totals of each card scheme with turnover, or the one total that came. */
function applicationsOf(settlement: Message | undefined, { totalsInFirstGroup }: ZvtOptions) {
  if (!settlement) return [];
  const { totals, amount } = settlement.fields;
  if (!totals) return [{ name: "total", status: GOOD_STATUS, count: 0, sumMinor: amount ?? 0 }];
  return totals.groups
    .filter(({ count }) => count > 0)
    .map(({ group, count, amount: sumMinor }) => ({
      // The first group can hold the totals of all cards, at Austrian terminals (docs/zvt.md 7.1).
      name: totalsInFirstGroup && group === "girocard" ? "total" : schemeNames[group],
      status: GOOD_STATUS,
      count,
      sumMinor,
    }));
}

/** The largest count of a card scheme, one byte: it means "255 or more" (docs/zvt.md 7.1). */
const COUNT_MAX = 0xff;
/** The receipt number in the totals of a terminal that closed nothing. */
const NO_RECEIPT = "0000";

/** Returns the totals of an end of day; undefined when the terminal sent none. */
function totalsOf({ fields: { totals, amount } }: Message): ClosingTotals | undefined {
  if (!totals) return undefined;
  const { receiptFrom, receiptTo, groups } = totals;
  const sumMinor = groups.reduce((sum, group) => sum + group.amount, 0);
  const isWhole = groups.every(({ count }) => count < COUNT_MAX);
  const closed = receiptFrom !== NO_RECEIPT && receiptTo !== NO_RECEIPT;
  return {
    receiptFrom: closed ? receiptFrom : null,
    receiptTo: closed ? receiptTo : null,
    count: isWhole ? groups.reduce((sum, group) => sum + group.count, 0) : null,
    sumMinor: amount === undefined || amount === sumMinor ? sumMinor : null,
  };
}

const schemeNames: Readonly<Record<Totals["groups"][number]["group"], string>> = {
  girocard: "girocard",
  jcb: "JCB",
  mastercard: "Mastercard",
  amex: "American Express",
  visa: "Visa",
  diners: "Diners",
  other: "other",
};
