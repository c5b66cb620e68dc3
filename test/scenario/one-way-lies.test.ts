import { type onTestFinished, test } from "vitest";
import {
  ConcertLiar,
  fixed,
  installed,
  type Liar,
  TaggedLiar,
  tagged,
  ZEROS,
} from "./one-way-liar.ts";

async function lied<L extends Liar>(
  liar: L,
  protocol: "concert" | "caisse-ap",
  finished: typeof onTestFinished,
  { alone = true } = {},
) {
  const made = await installed(liar, alone, { TERMINAL_PROTOCOL: protocol });
  finished(async () => {
    liar.close();
    await made.at.stop();
  });
  return { ...made, liar };
}

const zeros = { private: ZEROS };
const refused = { status: "7" };

/** The last result, which was reported for another order, and then whatever `after` says. */
const again =
  (before: Uint8Array, after: (request: string) => readonly Uint8Array[] = () => []) =>
  (request: string) => [before, ...after(request)];

test.concurrent.for([
  ["a refusal", refused, "Declined PAYMENT_DECLINED"],
  ["an approval", {}, "Success"],
] as const)(
  "%s that comes again byte for byte after the next request decides nothing (C1)",
  async ([_, kind, end], { expect, onTestFinished }) => {
    const { pays, liar, alarms } = await lied(new ConcertLiar(), "concert", onTestFinished);
    let last: Uint8Array = new Uint8Array();
    const nameless = (request: string) => {
      last = fixed(request, { ...zeros, ...kind });
      return [last];
    };
    // It has never given a reference back: `one-result-each` is taken for granted.
    expect(await pays("A-1", nameless)).toBe(end);
    expect(await pays("A-2", again(last))).toBe(end);
    expect(await pays("Z-1", (request) => [fixed(request, kind)])).toBe(end);
    expect(await pays("A-3", nameless)).toBe(end);
    expect(await pays("B-1", again(last))).toMatch(/^Unknown /);
    if (end === "Success") expect(await alarms()).toContain("unmatched-transaction");
    expect(liar.requests).toHaveLength(5);
  },
);

test.concurrent("another action than a debit is no approval (C2)", async (context) => {
  const { expect } = context;
  const { pays, alarms } = await lied(new TaggedLiar(), "caisse-ap", context.onTestFinished);
  expect(await pays("A-1", (request) => [tagged(request, { CD: "1" })])).toMatch(/^Unknown /);
  expect(await alarms()).toContain("report-mismatch");
});

test.concurrent("another register is a warning until ours came back (C3)", async (context) => {
  const { expect } = context;
  const { pays, alarms, findings } = await lied(
    new ConcertLiar(),
    "concert",
    context.onTestFinished,
    { alone: false }, // so that no alarm is about the supervisor
  );
  const other = (request: string) => [fixed(request, { posNumber: "07" })];
  expect(await pays("A-1", other)).toBe("Success");
  expect(await alarms()).toEqual(["report-differs"]);
  expect(await findings()).toContain("terminal-other-register");
  expect(await pays("A-2", (request) => [fixed(request)])).toBe("Success");
  expect(await findings()).not.toContain("terminal-other-register");
  expect(await pays("A-3", other)).toMatch(/^Unknown /);
  expect(await alarms()).toContain("report-mismatch");
});

test.concurrent("a late result decides nothing without the CF it had (C4)", async (context) => {
  const { expect } = context;
  const { pays, status } = await lied(new TaggedLiar(), "caisse-ap", context.onTestFinished);
  expect(await pays("Z-1", (request) => [tagged(request)])).toBe("Success");
  expect(await pays("A-1", () => [])).toMatch(/^Unknown /);
  const late = (request: string) => [tagged(request, { CF: undefined, AC: "000001" })];
  expect(await pays("B-1", late)).toMatch(/^Unknown /);
  expect([await status("A-1"), await status("B-1")]).toEqual(["Unknown", "Unknown"]);
});
