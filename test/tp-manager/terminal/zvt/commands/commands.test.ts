import { expect, test } from "vitest";
import {
  answerSeconds,
  authorisation,
  logOff,
} from "../../../../../src/tp-manager/terminal/zvt/commands/commands.ts";
import { encodeApdu, toHex } from "../../../../../src/zvt/index.ts";
import { tenEuro } from "../driver.ts";

const timers = { t1Ms: 200, t2Ms: 5_000, t3Ms: 5_000, t4Ms: 180_000 };
test.each([
  ["both repeats of our answer, and T3", timers, 15],
  ["more on a slow network", { ...timers, t3Ms: 12_400 }, 23],
  ["never less than a slow disk needs", { ...timers, t2Ms: 20, t3Ms: 50 }, 10],
  ["no more than one byte", { ...timers, t2Ms: 120_000, t3Ms: 60_000 }, 255],
])("a terminal waits for the answer to a report: %s", (_name, given, seconds) => {
  expect(answerSeconds(given)).toBe(seconds);
  const command = authorisation(tenEuro, { printerReady: false, answerSeconds: seconds });
  const field = seconds.toString(16).padStart(2, "0");
  expect(toHex(encodeApdu(command.apdu))).toBe(`06011004000000001000490978194001${field}0203`);
});

test("log-off is written as the protocol says, and no report of it is judged", () => {
  const { apdu, judged } = logOff();
  expect([toHex(encodeApdu(apdu)), judged]).toEqual(["060200", false]);
});
