import { describe, expect, test } from "vitest";
import { decodeApdu, decodeMessage } from "../../../../src/zvt/index.ts";
import { type Line, linesOr } from "../../../support/run/scope.ts";
import {
  ABORT,
  authorisation,
  bank,
  controls,
  REGISTRATION_WITHOUT_PRINT,
  STATUS,
  started,
} from "../support/started.ts";
import { fromHex } from "./support/register.ts";

const READ_CHIP = "06c0 05 0f 19 10 fc 01";
const READ_STRIPE = "06c0 01 0f";
const USE_READ_CARD = "0601 0c 04 000000001200 49 0978 19 42";
const manual = { behaviour: { customer: "manual" } } as const;

describe.each(linesOr("pty"))("over %s", (transport) => {
  test("Read Card ends with 04 0F and leaves the card in, until Abort gives it back", async () => {
    const { register } = await registered(transport);
    const messages = await register.run(READ_CHIP);
    expect(controls(messages)).toEqual(["8000", "04ff", "040f"]);
    const { fields, tags } = decoded(messages[2]);
    expect(fields.resultCode).toBeUndefined();
    expect(tags?.map(({ name }) => name)).toEqual(["chipList"]);
    expect((await register.run(STATUS)).at(-1)).toMatch(/^060f..dc/);
    expect(await register.run(ABORT)).toEqual(["800000"]);
    expect((await register.run(STATUS)).at(-1)).toMatch(/^060f..00/);
  });

  test("Read Card reports a stripe with a masked number only", async () => {
    const { register } = await registered(transport);
    const [, , report = ""] = await register.run(READ_STRIPE);
    expect(report).toContain("23f1f7541333eeeeee0006d2911201eeeeeeeeee");
    expect(decoded(report).fields.track2).toMatch(/^541333X{6}0006$/);
  });

  test("Read Card shows no prompt when the register shows one", async () => {
    const { register } = await registered(transport);
    expect(controls(await register.run("06c0 03 0f fc 00"))).toEqual(["8000", "040f"]);
  });

  test("Read Card without a card in time ends with result 6C", async () => {
    const { register } = await registered(transport, { pace: { customerMs: 60_000 } });
    const messages = await register.run("06c0 01 01");
    expect(messages.at(-1)).toBe("040f02276c");
    expect(controls(await register.run(STATUS))).toEqual(["8000", "060f"]);
  });

  test("Abort ends a Read Card that waits for ever", async () => {
    const { register, simulator } = await registered(transport, manual);
    register.send("06c0 03 00 fc 00");
    expect(await register.nextApdu()).toBe("800000");
    await expect.poll(() => simulator.terminal.parts.customer.wanted).not.toBeNull();
    register.send(ABORT);
    expect(await register.nextApdu()).toBe("800000");
    expect(await register.nextApdu()).toBe("040f02276c");
    register.send("800000");
    expect((await register.run(STATUS)).at(-1)).toMatch(/^060f..00/);
  });

  test("Read Card reports a card that is not for payments as unknown", async () => {
    const { register, simulator } = await registered(transport, manual);
    const reading = register.run(READ_STRIPE);
    await customerDoes(simulator, { action: "other-card" });
    expect((await reading).at(-1)).toBe("040f02277a");
  });

  test("a payment takes the card that was read, and asks for none", async () => {
    const { register, simulator } = await registered(transport, manual);
    const reading = register.run(READ_STRIPE);
    await customerDoes(simulator, { action: "insert", card: "visa" });
    await reading;
    const messages = await register.run(USE_READ_CARD);
    expect(messages.some((message) => /^04ff..0a/.test(message))).toBe(false);
    expect(decoded(messages.at(-2)).fields.cardName).toBe("Visa");
    expect(bank(simulator)).toEqual(["charge 1200 final"]);
    // It is given back by the payment.
    expect((await register.run(USE_READ_CARD)).at(-1)).toBe("061e0165");
  });

  test("Card poll is a payment, and reports a card that is for something else", async () => {
    const { register, simulator } = await registered(transport, manual);
    const paying = register.run(authorisation(1200).replace("0601", "06e6"));
    await customerDoes(simulator, { action: "insert" });
    expect((await paying).at(-1)).toBe("060f00");
    const polling = register.run(authorisation(1200).replace("0601", "06e6"));
    await customerDoes(simulator, { action: "other-card" });
    expect((await polling).at(-1)).toBe("061e0f7a060ce60a4c04080000ff1f4c0101");
    const refused = register.run(authorisation(1200));
    await customerDoes(simulator, { action: "other-card" });
    expect((await refused).at(-1)).toBe("061e017a");
    expect(bank(simulator)).toEqual(["charge 1200 final"]);
  });

  test("a display with answer reports the key", async () => {
    const { register, simulator } = await registered(transport, manual);
    const asking = register.run("06e1 09 f0 00 f1 f0 f4 52657921");
    await customerDoes(simulator, { action: "key", key: "f2" });
    expect(await asking).toEqual(["80000132"]);
    expect(simulator.terminal.parts.displayed).toEqual(["Rey!"]);
  });

  test("a display with answer reports a card only where the register asks for it", async () => {
    const { register, simulator } = await registered(transport, manual);
    const asking = register.run("06e1 02 f9 ff");
    await customerDoes(simulator, { action: "insert" });
    expect(await asking).toEqual(["800001dc"]);
    const other = register.run("06e1 02 f0 00");
    await expect.poll(() => simulator.terminal.parts.customer.wanted).not.toBeNull();
    expect(simulator.terminal.parts.customer.act({ action: "insert" })).toBe(false);
    simulator.terminal.parts.customer.act({ action: "cancel" });
    expect(await other).toEqual(["8000011b"]);
  });

  test("a display with answer ends after its time, or with Abort", async () => {
    const { register, simulator } = await registered(transport, manual);
    expect(await register.run("06e1 02 f0 01")).toEqual(["8000016c"]);
    register.send("06e1 02 f0 00");
    await expect.poll(() => simulator.terminal.parts.customer.wanted).not.toBeNull();
    expect(await register.run(ABORT)).toEqual(["800000"]);
    expect(controls(await register.run(STATUS))).toEqual(["8000", "060f"]);
  });

  test("digits are asked for with the vendor's MAC only", async () => {
    const { register, simulator } = await registered(transport, manual);
    expect(await register.run("06e2 04 e0 02 e9 04")).toEqual(["847500"]);
    const asking = register.run("06e2 0d e0 02 e9 04 eb 0011223344556677");
    await customerDoes(simulator, { action: "digits", digits: "471100" });
    expect(await asking).toEqual(["80000434373131"]);
    const again = register.run("06e2 0d e0 02 e9 04 eb 0011223344556677");
    await customerDoes(simulator, { action: "cancel" });
    expect(await again).toEqual(["8000011b"]);
  });
});

test.each(["06c0 03 00 fc 00", "06e1 02 f0 00"])(
  "%s waits no longer than its TCP line",
  async (command) => {
    const { register, simulator, reconnect } = await registered("tcp", manual);
    register.send(command);
    await expect.poll(() => simulator.terminal.parts.customer.wanted).not.toBeNull();
    await register.close();
    await expect.poll(() => simulator.terminal.running).toBeUndefined();
    expect(controls(await (await reconnect()).run(STATUS))).toEqual(["8000", "060f"]);
  },
);

type Options = Parameters<typeof started>[1];

async function registered(transport: Line, options?: Options) {
  const at = await started(transport, options);
  await at.register.run(REGISTRATION_WITHOUT_PRINT);
  return at;
}

/** The customer acts as soon as the terminal waits for one. */
async function customerDoes(
  { terminal }: Awaited<ReturnType<typeof started>>["simulator"],
  action: Parameters<typeof terminal.parts.customer.act>[0],
): Promise<void> {
  await expect.poll(() => terminal.parts.customer.wanted).not.toBeNull();
  expect(terminal.parts.customer.act(action)).toBe(true);
}

function decoded(apdu: string | undefined) {
  return decodeMessage(decodeApdu(fromHex(String(apdu))));
}
