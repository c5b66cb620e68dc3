import { describe, expect, test } from "vitest";
import { decodeApdu, decodeMessage } from "../../../../src/zvt/index.ts";
import {
  ABORT,
  authorisation,
  bank,
  controls,
  LAST_TRANSACTION,
  REGISTRATION,
  REGISTRATION_WITHOUT_PRINT,
  STATUS,
  started,
  transports,
} from "../support/started.ts";
import { fromHex } from "./support/register.ts";

const receipt = ["06d3", "06d3"];

describe.each(transports)("over %s", (transport) => {
  test("a register registers and gets terminal id and currency", async () => {
    const { register, simulator } = await started(transport);
    const messages = await register.run(REGISTRATION);
    expect(controls(messages)).toEqual(["8000", "060f"]);
    expect(decoded(messages[1]).fields).toMatchObject({
      typeByte: 0,
      terminalId: "52500042",
      currency: "0978",
    });
    expect(simulator.terminal.parts.registration).toMatchObject({ registered: true });
  });

  test("a payment is approved, printed and final at the bank", async () => {
    const { register, simulator } = await started(transport);
    await register.run(REGISTRATION);
    const messages = await register.run(authorisation(1200));
    expect(controls(messages)).toEqual(["8000", "04ff", "04ff", "040f", ...receipt, "060f"]);
    expect(decoded(messages[3]).fields).toMatchObject({
      resultCode: 0,
      amount: 1200,
      currency: "0978",
      receiptNumber: "0001",
      trace: "000001",
      pan: expect.stringMatching(/^541333X{6}0006$/),
      terminalId: "52500042",
    });
    expect(bank(simulator)).toEqual(["charge 1200 final"]);
    expect(simulator.ledger.charged).toBe(1200);
  });

  test.each([
    { cents: 5, result: 0x05 },
    { cents: 51, result: 0x33 },
    { cents: 55, result: 0x37 },
    { cents: 99, result: 0x63 },
  ])("cents $cents decline with that code and charge nothing", async ({ cents, result }) => {
    const { register, simulator } = await started(transport);
    await register.run(REGISTRATION);
    const messages = await register.run(authorisation(1200 + cents));
    expect(controls(messages)).toEqual(["8000", "04ff", "04ff", "04ff", "040f", "061e"]);
    expect(decoded(messages[4]).fields.resultCode).toBe(result);
    expect(decoded(messages[5]).parts.resultCode).toBe(result);
    expect(bank(simulator)).toEqual([]);
  });

  test("cents 68 are a customer who walks away", async () => {
    const { register, simulator } = await started(transport);
    await register.run(REGISTRATION);
    const messages = await register.run(authorisation(1268));
    expect(controls(messages)).toEqual(["8000", "04ff", "040f", "061e"]);
    expect(decoded(messages[2]).fields).toMatchObject({
      resultCode: 0x6c,
      additionalText: "Time-out",
    });
    expect(messages[3]).toBe("061e016c");
    expect(bank(simulator)).toEqual([]);
  });

  test("a payment is cancelled while the terminal waits for the customer", async () => {
    const { register, simulator } = await started(transport, { pace: { customerMs: 60_000 } });
    await register.run(REGISTRATION);
    register.send(authorisation(1200));
    expect(await register.nextApdu()).toBe("800000");
    expect(await register.nextApdu()).toMatch(/^04ff..0a/);
    register.send("800000");
    await reached(simulator, "card");
    register.send(ABORT);
    expect(await register.nextApdu()).toBe("800000");
    expect(await register.nextApdu()).toBe("040f07276c2952500042");
    register.send("800000");
    expect(await register.nextApdu()).toBe("061e016c");
    register.send("800000");
    expect(bank(simulator)).toEqual([]);
  });

  test("a payment is cancelled before the prompt is answered", async () => {
    const { register, simulator } = await started(transport, { pace: { customerMs: 60_000 } });
    await register.run(REGISTRATION);
    register.send(authorisation(1200));
    expect(await register.nextApdu()).toBe("800000");
    expect(await register.nextApdu()).toMatch(/^04ff..0a/);
    register.send(ABORT);
    expect(await register.nextApdu()).toBe("800000");
    expect(await register.hearsNothing(30)).toBe(true);
    register.send("800000");
    expect(await register.nextApdu()).toBe("040f07276c2952500042");
    register.send("800000");
    expect(await register.nextApdu()).toBe("061e016c");
    register.send("800000");
    expect(bank(simulator)).toEqual([]);
  });

  test("an abort is refused once the bank has been asked, and the payment goes on", async () => {
    const { register, simulator } = await started(transport, { pace: { hostMs: 100 } });
    await register.run("0600 06 000000 36 0978");
    register.send(authorisation(1200));
    expect(await register.nextApdu()).toBe("800000");
    await reached(simulator, "host");
    register.send(ABORT);
    expect(await register.nextApdu()).toBe("848300");
    expect(await register.nextApdu()).toMatch(/^040f/);
    register.send("800000");
    expect(await register.nextApdu()).toBe("060f00");
    register.send("800000");
    expect(bank(simulator)).toEqual(["charge 1200 final"]);
  });

  test("the last transaction is reported again, with nothing printed", async () => {
    const { register } = await started(transport);
    await register.run(REGISTRATION);
    const paid = await register.run(authorisation(1200));
    await register.run(authorisation(1205));
    const answer = await register.run(LAST_TRANSACTION);
    expect(controls(answer)).toEqual(["8000", "040f", "060f"]);
    expect(answer[1]).toBe(paid[3]);
  });

  test("a terminal without a transaction reports none", async () => {
    const { register } = await started(transport);
    await register.run(REGISTRATION);
    expect(controls(await register.run(LAST_TRANSACTION))).toEqual(["8000", "061e"]);
  });

  test("a status enquiry reports status and identity", async () => {
    const { register } = await started(transport);
    const [, completion] = await register.run(STATUS);
    const message = decodeMessage(decodeApdu(fromHex(String(completion))), { answering: 0x0501 });
    expect(message.parts).toEqual({ terminalStatus: 0 });
    expect(message.tags?.map(({ name }) => name)).toEqual([
      "terminalId",
      "device",
      "terminalClock",
    ]);
  });

  test("unknown commands are refused, unreadable ones too", async () => {
    const { register } = await started(transport);
    expect(await register.run("0fff 00")).toEqual(["848300"]);
    expect(await register.run("0601 02 0400")).toEqual(["849a00"]);
    expect(await register.run("0601 08 04000000001000 99")).toEqual(["848300"]);
  });

  test("registers without print messages get none", async () => {
    const { register } = await started(transport);
    await register.run(REGISTRATION_WITHOUT_PRINT);
    const messages = await register.run(authorisation(1200));
    expect(controls(messages)).toEqual(["8000", "04ff", "04ff", "040f", "060f"]);
  });

  test("a payment that gets no ACK is reversed", async () => {
    const { register, simulator, reconnect } = await started(transport, {
      timers: { t3Ms: 100 },
    });
    await register.run(REGISTRATION_WITHOUT_PRINT);
    await register.runToReport("0601 07 04 000000001200");
    await simulator.terminal.idle();
    expect(bank(simulator)).toEqual(["charge 1200", "reversal 1200 final not-acknowledged"]);
    expect(simulator.ledger.charged).toBe(0);
    await register.close();
    const again = await reconnect();
    expect(controls(await again.run(LAST_TRANSACTION))).toContain("061e");
  });
});

/** Resolves when the running command has come to that moment. */
async function reached(
  simulator: Awaited<ReturnType<typeof started>>["simulator"],
  phase: string,
): Promise<void> {
  if (simulator.terminal.running?.phase === phase) return;
  await new Promise<void>((resolve) => {
    const unsubscribe = simulator.terminal.trace.subscribe((event) => {
      if (event.what !== "phase" || event.phase !== phase) return;
      unsubscribe();
      resolve();
    });
  });
}

function decoded(apdu: string | undefined) {
  return decodeMessage(decodeApdu(fromHex(String(apdu))));
}
