import { describe, expect, test } from "vitest";
import {
  authorisation,
  bank,
  controls,
  END_OF_DAY,
  LAST_TRANSACTION,
  REGISTRATION_WITHOUT_PRINT,
  started,
} from "../support/started.ts";

describe("a terminal that keeps what got no ACK (docs/zvt.md 9.1, 9.4)", () => {
  test("reports that sale as its last transaction", async () => {
    const { again, simulator } = await withoutAck();
    expect(bank(simulator)).toEqual(["charge 1200"]);
    const [, last] = await again.run(LAST_TRANSACTION);
    expect(last).toContain("04000000001200");
  });

  test("reverses that sale when the register names the receipt number before it", async () => {
    const { again, simulator } = await withoutAck(2);
    const messages = await again.run(paymentKnowing("1f1f020001"));
    expect(messages.at(-1)).toBe("060f00");
    expect(messages.find((message) => message.startsWith("040f"))).toContain("870002");
    expect(bank(simulator)).toEqual([
      "charge 1200 final",
      "charge 1200",
      "reversal 1200 final register-missed-it",
      "charge 500 final",
    ]);
  });

  test("leaves that sale when the register names its receipt number", async () => {
    const { again, simulator } = await withoutAck();
    await again.run(paymentKnowing("1f1f020001"));
    expect(bank(simulator)).toEqual(["charge 1200", "charge 500 final"]);
  });

  test("leaves that sale when the numbers differ by anything but one", async () => {
    for (const named of ["0003", "0001", "9999"]) {
      const { again, simulator } = await withoutAck(3);
      await again.run(paymentKnowing(`1f1f02${named}`));
      expect(bank(simulator)).toEqual([
        "charge 1200 final",
        "charge 1200 final",
        "charge 1200",
        "charge 500 final",
      ]);
    }
  });

  test("can hide that sale: Repeat Receipt then reports the one before", async () => {
    const { again } = await withoutAck(2, { repeatsWithoutAck: false });
    const [, last] = await again.run(LAST_TRANSACTION);
    expect(last).toContain("870001");
    const messages = await again.run(paymentKnowing("1f1f020001"));
    expect(messages.find((message) => message.startsWith("040f"))).toContain("870002");
  });

  test("reverses the very first sale when the register knows none", async () => {
    const { again, simulator } = await withoutAck();
    await again.run(paymentKnowing("1f1f00"));
    expect(bank(simulator)).toEqual([
      "charge 1200",
      "reversal 1200 final register-missed-it",
      "charge 500 final",
    ]);
  });

  test("does not report that sale after its reversal, not even after an end of day", async () => {
    const { again } = await withoutAck(2);
    await again.run(END_OF_DAY);
    const declined = await again.run(paymentKnowing("1f1f020001", "505"));
    expect(declined.at(-1)).toBe("061e0105");
    expect(await again.run(LAST_TRANSACTION)).toEqual(["800000", "061e0183"]);
  });

  test("leaves that sale when the register names no number", async () => {
    const { again, simulator } = await withoutAck();
    await again.run(authorisation(500));
    expect(bank(simulator)).toEqual(["charge 1200", "charge 500 final"]);
  });
});

describe("numbered messages (docs/zvt.md 9.4, tag 1F73)", () => {
  const asking = "0600 0e 000000 3e 0978 06 06 1f7303000000";

  test("are agreed at registration, and every message and answer carries its number", async () => {
    const { register } = await started("tcp", { behaviour: { messageIds: true } });
    const [, completion] = await register.run(asking);
    expect(completion).toMatch(/1f7303000000$/);
    let id = 1;
    const messages = await register.run(
      "0601 12 04 000000000100 49 0978 06 06 1f7303000001",
      (apdu) => `80000806061f7303${apdu.slice(-6)}`,
    );
    expect(messages[0]).toBe("80000806061f7303000001");
    for (const message of messages.slice(1)) {
      id += 1;
      expect(message.slice(-12)).toBe(`1f7303${String(id).padStart(6, "0")}`);
    }
    expect(controls(messages)).toEqual(["8000", "04ff", "04ff", "040f", "060f"]);
  });

  test("are ignored in an answer with another number", async () => {
    const { register } = await started("tcp", {
      behaviour: { messageIds: true },
      timers: { t3Ms: 60 },
    });
    await register.run(asking);
    register.send("0601 12 04 000000000100 49 0978 06 06 1f7303000001");
    expect(await register.nextApdu()).toBe("80000806061f7303000001");
    expect(await register.nextApdu()).toMatch(/^04ff/);
    register.send("80000806061f7303000009");
    expect(await register.next()).toBe("closed");
  });

  test("are not begun by a terminal that does not know them", async () => {
    const { register } = await started("tcp");
    const [, completion] = await register.run(asking);
    expect(completion).not.toContain("1f73");
  });
});

/** Payments of 12.00 of which the last one got no ACK; then a new connection. */
async function withoutAck(payments = 1, behaviour = {}) {
  const opened = await started("tcp", {
    behaviour: { autoReversal: false, ...behaviour },
    timers: { t3Ms: 60 },
  });
  const { register, simulator, reconnect } = opened;
  await register.run(REGISTRATION_WITHOUT_PRINT);
  for (let i = 1; i < payments; i++) await register.run(authorisation(1200));
  await register.runToReport(authorisation(1200));
  expect(await register.next()).toBe("closed");
  await simulator.terminal.idle();
  return { ...opened, again: await reconnect() };
}

function paymentKnowing(tag: string, amount = "500"): string {
  const container = `06${byte(tag.length / 2)}${tag}`;
  const fields = `04${amount.padStart(12, "0")}490978${container}`;
  return `0601${byte(fields.length / 2)}${fields}`;
}

function byte(value: number): string {
  return value.toString(16).padStart(2, "0");
}
