import { expect, test } from "vitest";
import {
  answerSeconds,
  authorisation,
} from "../../../../../src/tp-manager/terminal/zvt/commands/authorisation.ts";
import * as books from "../../../../../src/tp-manager/terminal/zvt/commands/book-total.ts";
import type { Command } from "../../../../../src/tp-manager/terminal/zvt/commands/command.ts";
import * as shows from "../../../../../src/tp-manager/terminal/zvt/commands/display-text.ts";
import { logOff } from "../../../../../src/tp-manager/terminal/zvt/commands/log-off.ts";
import * as part from "../../../../../src/tp-manager/terminal/zvt/commands/partial-reversal.ts";
import * as holds from "../../../../../src/tp-manager/terminal/zvt/commands/pre-authorisation.ts";
import { refund } from "../../../../../src/tp-manager/terminal/zvt/commands/refund.ts";
import * as sums from "../../../../../src/tp-manager/terminal/zvt/commands/turnover-totals.ts";
import { encodeApdu, toHex } from "../../../../../src/zvt/index.ts";
import { tenEuro } from "../driver.ts";

const sale = { ...tenEuro, receiptNumber: "0042" };
const text = { seconds: 10, charset: "cp437" } as const;

/** Bytes from docs/zvt.md 6.3, 6.4 and 6.8, and whether the terminal's report commits money. */
const commands: ReadonlyArray<readonly [Command, string, boolean]> = [
  [refund(tenEuro, "123456"), "06310d 123456 04000000001000 490978", true],
  [holds.preAuthorisation(tenEuro), "06220a 04000000001000 490978", true],
  [part.partialReversal(sale), "06230d 870042 04000000001000 490978", true],
  [books.bookTotal(sale), "06240d 870042 04000000001000 490978", true],
  [sums.turnoverTotals("123456"), "061003 123456", false],
  [shows.displayText(["ABC", "D"], text), "06e00c f00a f1f0f3414243 f2f0f144", false],
  [shows.displayText([], { ...text, seconds: 0 }), "06e002 f000", false],
  [logOff(), "060200", false],
];

const timers = { t2Ms: 5_000, t3Ms: 5_000 };
test.each([
  ["both repeats of our answer, and T3", timers, 15],
  ["more on a slow network", { ...timers, t3Ms: 12_400 }, 23],
  ["never less than a slow disk needs", { t2Ms: 20, t3Ms: 50 }, 10],
  ["no more than one byte", { t2Ms: 120_000, t3Ms: 60_000 }, 255],
])("a terminal waits for the answer to a report: %s", (_name, given, seconds) => {
  expect(answerSeconds(given)).toBe(seconds);
  const command = authorisation(tenEuro, { printerReady: false, answerSeconds: seconds });
  const field = seconds.toString(16).padStart(2, "0");
  expect(toHex(encodeApdu(command.apdu))).toBe(`06011004000000001000490978194001${field}0203`);
});

test.each(commands.map((row) => [row[0].name, ...row] as const))(
  "%s is written as the protocol says",
  (_name, command, hex, judged) => {
    expect(toHex(encodeApdu(command.apdu))).toBe(hex.replaceAll(" ", ""));
    expect(command.judged).toBe(judged);
  },
);
