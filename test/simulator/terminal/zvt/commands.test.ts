import { describe, expect, test } from "vitest";
import { decodeApdu, decodeMessage } from "../../../../src/zvt/index.ts";
import { type Line, linesOr } from "../../../support/run/scope.ts";
import {
  authorisation,
  bank,
  controls,
  END_OF_DAY,
  LAST_TRANSACTION,
  REGISTRATION,
  REGISTRATION_WITHOUT_PRINT,
  STATUS,
  started,
} from "../support/started.ts";
import { fromHex } from "./support/register.ts";

const PASSWORD = "000000";
const WITHOUT_STATUS = "0600 08 000000 36 0978 06 00";
const OPEN_RESERVATIONS = "0623 05 87ffff 0600";

describe.each(linesOr("tcp"))("over %s", (transport) => {
  test("a payment is reversed once, with its receipt number and amount", async () => {
    const { register, simulator } = await registered(transport);
    await register.run(authorisation(1200));
    const messages = await register.run(reversal(1, 1200));
    expect(controls(messages)).toEqual(["8000", "040f", "060f"]);
    expect(decoded(messages[1]).fields).toMatchObject({
      resultCode: 0,
      amount: 1200,
      receiptNumber: "0002",
      trace: "000002",
      originalTrace: "000001",
    });
    expect(bank(simulator)).toEqual(["charge 1200 final", "reversal 1200 final asked"]);
    expect((await register.run(reversal(1, 1200))).at(-1)).toBe("061e01b4");
    expect(simulator.ledger.charged).toBe(0);
  });

  test("a reversal of another amount or an unknown receipt number is refused", async () => {
    const { register, simulator } = await registered(transport);
    await register.run(authorisation(1200));
    expect((await register.run(reversal(1, 1100))).at(-1)).toBe("061e01b5");
    expect((await register.run(reversal(9, 1200))).at(-1)).toBe("061e01b5");
    expect(bank(simulator)).toEqual(["charge 1200 final"]);
  });

  test("a reversal stands although the register never sends its ACK", async () => {
    const { register, simulator, reconnect } = await registered(transport, { t3Ms: 300 });
    await register.run(authorisation(1200));
    await register.runToReport(reversal(1, 1200));
    await simulator.terminal.idle();
    expect(bank(simulator)).toEqual(["charge 1200 final", "reversal 1200 final asked"]);
    await register.close();
    const [, newest] = await (await reconnect()).run(LAST_TRANSACTION);
    expect(decoded(newest).fields.originalTrace).toBe("000001");
  });

  test("a refund gives money back", async () => {
    const { register, simulator } = await registered(transport);
    const messages = await register.run(`0631 0d ${PASSWORD} 04 000000000500 49 0978`);
    expect(controls(messages)).toEqual(["8000", "040f", "060f"]);
    expect(bank(simulator)).toEqual(["refund 500 final"]);
    expect(simulator.ledger.charged).toBe(-500);
  });

  test("a reservation is booked with the part that was used", async () => {
    const { register, simulator } = await registered(transport);
    expect((await register.run("0622 0a 04 000000005000 49 0978")).at(-1)).toBe("060f00");
    expect(bank(simulator)).toEqual(["reservation 5000 final"]);
    expect((await register.run(OPEN_RESERVATIONS)).at(-1)).toBe("061e04b8870001");
    const messages = await register.run("0624 0d 87 0001 04 000000003000 49 0978");
    expect(decoded(messages[1]).fields).toMatchObject({ amount: 3000, originalTrace: "000001" });
    expect(bank(simulator)).toEqual([
      "reservation 5000 final",
      "release 5000 final booking",
      "charge 3000 final booking",
    ]);
    expect((await register.run(OPEN_RESERVATIONS)).at(-1)).toBe("061e04b887ffff");
    expect(simulator.ledger.charged).toBe(3000);
  });

  test("a partial reversal names the part that was not used", async () => {
    const { register, simulator } = await registered(transport);
    await register.run("0622 0a 04 000000005000 49 0978");
    const messages = await register.run("0623 0d 87 0001 04 000000001500 49 0978");
    expect(decoded(messages[1]).fields.amount).toBe(3500);
    expect(simulator.ledger.charged).toBe(3500);
  });

  test("a reservation remains after an end of day", async () => {
    const { register, simulator } = await registered(transport);
    await register.run("0622 0a 04 000000005000 49 0978");
    await register.run(authorisation(1200));
    await register.run(END_OF_DAY);
    expect((await register.run(OPEN_RESERVATIONS)).at(-1)).toBe("061e04b8870001");
    expect((await register.run("0625 06 87 0001 49 0978")).at(-1)).toBe("060f00");
    expect(simulator.ledger.charged).toBe(1200);
  });

  test("a reservation is cancelled as a whole", async () => {
    const { register, simulator } = await registered(transport);
    await register.run("0622 0a 04 000000005000 49 0978");
    const messages = await register.run("0625 06 87 0001 49 0978");
    expect(decoded(messages[1]).fields).toMatchObject({ amount: 0, originalTrace: "000001" });
    expect(bank(simulator)).toEqual(["reservation 5000 final", "release 5000 final asked"]);
  });

  test("several open reservations are reported as a list", async () => {
    const { register } = await registered(transport);
    for (const _ of [1, 2, 3]) await register.run("0622 0a 04 000000005000 49 0978");
    const list = "061e10 b8 870001 060a 2308 08020002 08020003".replaceAll(" ", "");
    expect((await register.run(OPEN_RESERVATIONS)).at(-1)).toBe(list);
  });

  test("more than was reserved cannot be booked", async () => {
    const { register, simulator } = await registered(transport);
    await register.run("0622 0a 04 000000005000 49 0978");
    const messages = await register.run("0624 0d 87 0001 04 000000005001 49 0978");
    expect(messages.at(-1)).toBe("061e01b7");
    expect(bank(simulator)).toEqual(["reservation 5000 final"]);
  });

  test("end of day reports the totals once, turnover totals as often as asked", async () => {
    const { register } = await registered(transport);
    await register.run(authorisation(1200));
    await register.run(authorisation(800));
    await register.run(reversal(1, 1200));
    for (const command of [`0610 03 ${PASSWORD}`, `0610 03 ${PASSWORD}`, END_OF_DAY]) {
      const messages = await register.run(command);
      expect(controls(messages)).toEqual(["8000", "040f", "060f"]);
      const { amount, totals } = decoded(messages[1]).fields;
      expect(amount).toBe(800);
      expect(totals).toMatchObject({ receiptFrom: "0001", receiptTo: "0003" });
      expect(totals?.groups.filter(({ count }) => count > 0)).toEqual([
        { group: "mastercard", count: 1, amount: 800 },
      ]);
    }
    const [, empty] = await register.run(END_OF_DAY);
    expect(decoded(empty).fields).toMatchObject({ amount: 0 });
    const [, last] = await register.run(LAST_TRANSACTION);
    expect(decoded(last).fields).toMatchObject({ receiptNumber: "0003", amount: 1200 });
    expect((await register.run(reversal(2, 800))).at(-1)).toBe("061e01b5");
  });

  test.each([
    { demand: "initialisation" as const, status: 0x51, code: "51", cure: `0693 03 ${PASSWORD}` },
    { demand: "diagnosis" as const, status: 0xc2, code: "c2", cure: "0670 00" },
    { demand: "end-of-day" as const, status: 0xf0, code: "f0", cure: END_OF_DAY },
  ])("a terminal that demands $demand takes no card until it was done", async (row) => {
    const { register, simulator } = await registered(transport);
    simulator.terminal.parts.memory.demand(row.demand, true);
    expect(await terminalStatus(register)).toBe(row.status);
    expect(await register.run(authorisation(1200))).toEqual(["800000", `061e01${row.code}`]);
    expect((await register.run(row.cure)).at(-1)).toBe("060f00");
    expect(await terminalStatus(register)).toBe(0);
    expect((await register.run(authorisation(1200))).at(-1)).toBe("060f00");
    expect(bank(simulator)).toEqual(["charge 1200 final"]);
  });

  test("a reset terminal drops the line, comes back and wants to be registered again", async () => {
    const { register, simulator, reconnect } = await registered(transport);
    await register.run(authorisation(1200));
    const before = simulator.endpoints;
    expect(await register.run("0618 00")).toEqual(["800000", "060f00"]);
    await expect.poll(() => simulator.terminal.parts.registration.registered).toBe(false);
    await register.close();
    const isBack = (): boolean => {
      const { pty, tcp } = simulator.endpoints;
      return simulator.endpoints !== before && (pty !== null || tcp !== null);
    };
    await expect.poll(isBack).toBe(true);
    const again = await persistently(reconnect);
    const [, newest] = await again.run(LAST_TRANSACTION);
    expect(decoded(newest).fields).toMatchObject({ amount: 1200 });
  });

  test("the clock can be set, and a wrong date is refused", async () => {
    const { register } = await registered(transport);
    expect(await register.run(`0691 0b ${PASSWORD} aa 300228 0c 112233`)).toEqual([
      "800000",
      "060f00",
    ]);
    const [, completion] = await register.run(STATUS);
    expect(completion).toContain("1f0e04203002281f0f031122");
    expect(await register.run(`0691 0b ${PASSWORD} aa 300230 0c 112233`)).toEqual(["849a00"]);
  });

  test("texts are displayed, the language selected, the speed left alone", async () => {
    const { register, simulator } = await registered(transport);
    expect(await register.run("06e0 0a f0 05 f1 f0 f5 48616c6c6f")).toEqual(["800000"]);
    expect(simulator.terminal.parts.displayed).toEqual(["Hallo"]);
    expect(await register.run("0830 01 00")).toEqual(["800000"]);
    expect(simulator.terminal.parts.language).toBe("de");
    // The codes end with French: a language of the display that has none is not selected.
    expect(await register.run("0830 01 03")).toEqual(["800000"]);
    expect(simulator.terminal.parts.language).toBe("de");
    expect(await register.run("0840 01 07")).toEqual(["800000"]);
    expect(await register.run("0840 01 09")).toEqual(["84fd00"]);
  });

  test("diagnosis reports the time to the register where that is permitted", async () => {
    const { register } = await started(transport);
    await register.run("0600 0e 000000 36 0978 06 06 26 04 0a 02 0401");
    expect(controls(await register.run("0670 00"))).toEqual(["8000", "0401", "060f"]);
  });

  test("administration receipts are printed as one block", async () => {
    const { register } = await started(transport);
    await register.run(REGISTRATION);
    const expected = ["8000", "04ff", "040f", "06d3", "060f"];
    expect(controls(await register.run(END_OF_DAY))).toEqual(expected);
    expect(controls(await register.run("061a 00"))).toEqual(["8000", "06d3", "060f"]);
  });

  test("after log-off there are no statuses, and receipts come as lines", async () => {
    const { register } = await started(transport);
    await register.run(REGISTRATION);
    expect(await register.run("0602 00")).toEqual(["800000"]);
    const heard = new Set(controls(await register.run(authorisation(1200))));
    expect([...heard]).toEqual(["8000", "040f", "06d1", "060f"]);
  });
});

test("a wrong currency is refused at registration and at a payment", async () => {
  const { register, simulator } = await started("tcp");
  expect(await register.run("0600 06 000000 be 0840")).toEqual(["841e036f0840"]);
  await register.run(REGISTRATION_WITHOUT_PRINT);
  expect((await register.run("0601 0a 04 000000001200 49 0840")).at(-1)).toBe("061e036f0840");
  expect(bank(simulator)).toEqual([]);
});

test.each([
  ["the customer's", "80", ["Customer copy"]],
  ["the merchant's", "20", ["Merchant copy"]],
  ["both", "a0", ["Merchant copy", "Customer copy"]],
  ["none", "00", []],
])("a register that asks for %s gets it", async (_which, wanted, copies) => {
  const { register } = await started("tcp");
  await register.run(`0600 14 000000 be 0978 0300 06 0a 26 04 0a 02 06d3 1f04 01 ${wanted}`);
  const messages = await register.run(authorisation(1200));
  const printed = messages.filter((message) => message.startsWith("06d3"));
  expect(printed.map(copyOf)).toEqual(copies);
});

/** The title of a printed block. */
function copyOf(message: string): string | undefined {
  return /\*\* (\w+ copy) \*\*/.exec(Buffer.from(fromHex(message)).toString("latin1"))?.[1];
}

test("a terminal that wants a registration refuses payments before", async () => {
  const { register } = await started("tcp", { behaviour: { registrationRequired: true } });
  expect(await register.run(authorisation(1200))).toEqual(["846b00"]);
  await register.run(REGISTRATION_WITHOUT_PRINT);
  expect((await register.run(authorisation(1200))).at(-1)).toBe("060f00");
});

test("a terminal with a password refuses commands with another one", async () => {
  const { register } = await started("tcp", { device: { password: "123456" } });
  expect(await register.run(REGISTRATION_WITHOUT_PRINT)).toEqual(["843700"]);
  expect((await register.run("0600 06 123456 36 0978")).at(-1)).toMatch(/^060f/);
  expect((await register.run(authorisation(1200))).at(-1)).toBe("060f00");
});

test("receipt numbers go from 9999 back to 1, traces from 999999", async () => {
  const { register } = await started("tcp", {
    behaviour: { firstReceiptNumber: 9_999, firstTrace: 999_999 },
  });
  await register.run(WITHOUT_STATUS);
  const first = decoded((await register.run(authorisation(1200)))[1]).fields;
  const second = decoded((await register.run(authorisation(1200)))[1]).fields;
  expect([first.receiptNumber, second.receiptNumber]).toEqual(["9999", "0001"]);
  expect([first.trace, second.trace]).toEqual(["999999", "000001"]);
});

async function registered(transport: Line, timers = {}) {
  const opened = await started(transport, { timers });
  await opened.register.run(WITHOUT_STATUS);
  return opened;
}

function reversal(receiptNumber: number, amountMinor: number): string {
  const receipt = String(receiptNumber).padStart(4, "0");
  return `0630 10 ${PASSWORD} 87 ${receipt} 04 ${String(amountMinor).padStart(12, "0")} 49 0978`;
}

/** The first data byte when the enquiry leaves the version out (docs/zvt.md 6.5). */
async function terminalStatus(register: { run(command: string): Promise<string[]> }) {
  const [, completion] = await register.run(STATUS);
  return decodeApdu(fromHex(String(completion))).data[0];
}

/** Connects as soon as that is possible again. */
async function persistently<T>(connect: () => Promise<T>): Promise<T> {
  let connected: T | undefined;
  await expect
    .poll(async () => {
      connected = await connect().catch(() => undefined);
      return connected !== undefined;
    })
    .toBe(true);
  return connected as T;
}

function decoded(apdu: string | undefined) {
  return decodeMessage(decodeApdu(fromHex(String(apdu))));
}
