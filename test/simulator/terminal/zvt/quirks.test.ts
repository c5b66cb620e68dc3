import { expect, test } from "vitest";
import { type QuirkName, quirkNames } from "../../../../src/simulator/terminal/zvt/options.ts";
import type { StartOptions } from "../support/start-simulator.ts";
import {
  ABORT,
  authorisation,
  END_OF_DAY,
  LAST_TRANSACTION,
  REGISTRATION,
  STATUS,
  started,
} from "../support/started.ts";

/** What a register hears from a terminal with one deviation, and not from one without. */
interface Case {
  readonly quirk: QuirkName;
  readonly registration?: string;
  /** Sent one after the other; the messages of the last one are compared. */
  readonly commands: readonly string[];
  readonly sees: RegExp;
  readonly options?: StartOptions;
}

const BARE = "0600 06 000000 be 0978";
const SALE = authorisation(1200);
const REVERSAL = "0630 06 000000 87 0001";
const ASK_AGAIN = "849c00";
const UPDATE = "0810 00";
const FRENCH = "0830 01 02";

const cases: readonly Case[] = [
  { quirk: "container-unasked", registration: BARE, commands: [SALE], sees: /040f.*2f0c1f10/ },
  { quirk: "print-blocks-only", registration: BARE, commands: [SALE], sees: /06d3/ },
  { quirk: "print-lines-only", commands: [SALE], sees: /06d1..40.*06041f070102/ },
  { quirk: "print-first-in-reversal", commands: [SALE, REVERSAL], sees: /06d3.*040f/ },
  { quirk: "end-attribute-8f", commands: [SALE], sees: /09018f/ },
  { quirk: "no-end-mark", commands: ["061a 00"], sees: /^800000 06d3(?!.*090181)/ },
  // é, which is 82 in CP437.
  { quirk: "latin1", commands: [FRENCH, SALE], sees: /496e73e972657a/ },
  // In a printed block: the report of the sale holds the time, which can be 14:01:02.
  { quirk: "blocks-in-latin2", commands: [SALE], sees: /06d3\S*140102/ },
  { quirk: "long-trace", commands: [SALE], sees: /0b000000.*1f2b0400000001/ },
  { quirk: "t4-byte-zero", commands: [SALE], sees: /04ff..0a00/ },
  { quirk: "no-t4-byte", commands: [SALE], sees: /04ff..0a06/ },
  { quirk: "no-texts", commands: [SALE], sees: /04ff020a03/ },
  { quirk: "statuses-a0", commands: [SALE], sees: /04ff..a1/ },
  { quirk: "reverses-last-only", commands: [SALE, SALE, REVERSAL], sees: /061e01b5/ },
  { quirk: "wrong-amount-on-reversal", commands: [SALE, REVERSAL], sees: /455552200?.*302c3030/ },
  { quirk: "empty-repeat-receipt", commands: [SALE, LAST_TRANSACTION], sees: /^800000 060f00$/ },
  { quirk: "short-report", commands: [SALE], sees: /040f..00040000000012000b/ },
  { quirk: "private-tags", commands: [SALE], sees: /c00101d0020203d10104df01020506/ },
  { quirk: "opaque-tags", commands: [SALE], sees: /ff4003123456ff4107d5b7/ },
  { quirk: "binary-serial", commands: [STATUS], sees: /1f42040001e240/ },
  {
    quirk: "no-currency-field",
    registration: REGISTRATION,
    commands: ["0600 07 000000 be 49 0978"],
    sees: /^849a00$/,
  },
  { quirk: "diagnosis-needs-type", commands: ["0670 00"], sees: /849a00/ },
  { quirk: "totals-in-first-group", commands: [SALE, END_OF_DAY], sees: /60f0f5f30001000101/ },
  { quirk: "no-update", commands: [UPDATE], sees: /061e01e0/ },
  { quirk: "update-after-end-of-day", commands: [END_OF_DAY], sees: /060f0227e0$/ },
  {
    quirk: "no-pin-status",
    commands: [SALE],
    sees: /^800000 04ff..0a\S* 04ff..04/,
    options: { behaviour: { card: "girocard" } },
  },
  {
    quirk: "five-digit-password",
    registration: "0600 06 999999 be 0978",
    commands: ["0650 03 123457"],
    sees: /060f00$/,
    options: { device: { password: "123456" } },
  },
];

test.each(cases)("the register notices $quirk, and only when it is switched on", async (row) => {
  expect(await heard(row, [row.quirk])).toMatch(row.sees);
  expect(await heard(row, [])).not.toMatch(row.sees);
});

async function heard(row: Case, quirks: readonly QuirkName[]): Promise<string> {
  const options = { ...row.options, behaviour: { ...row.options?.behaviour, quirks } };
  const { register } = await started("tcp", options);
  await register.run(row.registration ?? REGISTRATION);
  let messages: string[] = [];
  for (const command of row.commands) messages = await register.run(command);
  return messages.join(" ");
}

test.each([
  { quirks: [], ends: "060f00", reports: 6 },
  { quirks: ["asks-three-times"] as const, ends: "061e016c", reports: 5 },
])("asks-three-times: with $quirks the goods are asked for $reports times", async (row) => {
  const { register } = await started("tcp", {
    behaviour: { quirks: row.quirks },
    pace: { goodsPauseMs: 0 },
  });
  await register.run("0600 06 000000 36 0978");
  let reports = 0;
  const messages = await register.run(SALE, (apdu) => {
    if (apdu.startsWith("040f")) reports += 1;
    return apdu.startsWith("040f") && reports < 6 ? ASK_AGAIN : "800000";
  });
  expect([messages.at(-1), reports]).toEqual([row.ends, row.reports]);
});

test.each([
  { quirks: [], charged: 500 },
  { quirks: ["no-partial-issue"] as const, charged: 0 },
])("no-partial-issue: with $quirks 84 9D leaves $charged charged", async ({ quirks, charged }) => {
  const { register, simulator } = await started("tcp", { behaviour: { quirks } });
  await register.run("0600 06 000000 36 0978");
  const part = "849d07 04 000000000500";
  await register.run(SALE, (apdu) => (apdu.startsWith("040f") ? part : "800000"));
  expect(simulator.ledger.charged).toBe(charged);
});

test("ignores-abort: the payment goes on as if nothing had been said", async () => {
  const { register, simulator } = await started("tcp", {
    behaviour: { quirks: ["ignores-abort"], customer: "manual" },
  });
  await register.run("0600 06 000000 36 0978");
  register.send(SALE);
  expect(await register.nextApdu()).toBe("800000");
  await expect.poll(() => simulator.terminal.parts.customer.wanted).not.toBeNull();
  register.send(ABORT);
  expect(await register.hearsNothing(50)).toBe(true);
  simulator.terminal.parts.customer.act({ action: "insert" });
  expect(await register.nextApdu()).toMatch(/^040f/);
});

test("silent-after-cancel: one status enquiry is not answered, the next one is", async () => {
  const { register, simulator } = await started("tcp", {
    behaviour: { quirks: ["silent-after-cancel"], customer: "manual" },
  });
  await register.run("0600 06 000000 36 0978");
  const paying = register.run(SALE);
  await expect.poll(() => simulator.terminal.parts.customer.wanted).not.toBeNull();
  simulator.terminal.parts.customer.act({ action: "cancel" });
  expect((await paying).at(-1)).toBe("061e016c");
  register.send(STATUS);
  expect(await register.hearsNothing(50)).toBe(true);
  expect((await register.run(STATUS)).at(-1)).toMatch(/^060f/);
});

test("log-off-be: receipts and statuses stay switched on", async () => {
  const { register, simulator } = await started("tcp", {
    behaviour: { quirks: ["log-off-be"] },
  });
  await register.run(REGISTRATION);
  await register.run("0602 00");
  expect(simulator.terminal.parts.registration.configByte).toBe(0xbe);
});

test("refuses-after-update: the first command is answered 84 1E 01 7D, no more", async () => {
  const again = await updated("refuses-after-update");
  expect(await again.run(STATUS)).toEqual(["841e017d"]);
  expect((await again.run(STATUS)).at(-1)).toMatch(/^060f/);
});

test("zvt-off-after-update: the terminal answers no ZVT command any more", async () => {
  const again = await updated("zvt-off-after-update");
  again.send(STATUS);
  expect(await again.hearsNothing(50)).toBe(true);
});

async function updated(quirk: QuirkName) {
  const { register, reconnect } = await started("tcp", {
    behaviour: { quirks: [quirk] },
    pace: { rebootMs: 0 },
  });
  await register.run(UPDATE);
  expect(await register.next()).toBe("closed");
  for (;;) {
    const again = await reconnect().catch(() => undefined);
    if (again) return again;
  }
}

test("a currency written as field 49 is taken where nothing is against it", async () => {
  const { register, simulator } = await started("tcp");
  const [, completion] = await register.run("0600 07 000000 be 49 0978");
  expect(completion).toContain("490978");
  expect(simulator.terminal.parts.registration.currency).toBe("0978");
});

test("every deviation is tried", () => {
  const tried = [
    ...cases.map(({ quirk }) => quirk),
    "asks-three-times",
    "no-partial-issue",
    "ignores-abort",
    "silent-after-cancel",
    "log-off-be",
    "refuses-after-update",
    "zvt-off-after-update",
  ];
  expect([...tried].sort()).toEqual([...quirkNames].sort());
});
