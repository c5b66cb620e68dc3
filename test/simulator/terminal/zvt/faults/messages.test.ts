import { expect, test } from "vitest";
import { encodeFrame } from "../../../../../src/simulator/terminal/zvt/link/frame.ts";
import { decodeApdu, decodeMessage, findTags } from "../../../../../src/zvt/index.ts";
import {
  ABORT,
  authorisation,
  bank,
  controls,
  LAST_TRANSACTION,
  REGISTRATION,
  STATUS,
  started,
} from "../../support/started.ts";
import { fromHex, hex } from "../support/register.ts";

const WITH_PRINT_LINES = "0600 0a 000000 be 0978 0300 06 00";

test("refuse-abort: the terminal refuses to cancel and the payment goes on", async () => {
  const { answers, exchange, simulator } = await abortedPayment("refuse-abort");
  expect(answers).toEqual(["848300"]);
  expect(exchange.at(-1)).toBe("060f");
  expect(bank(simulator)).toEqual(["charge 1200 final"]);
});

test("ignore-abort: no answer to the cancellation, the payment goes on", async () => {
  const { answers, exchange, simulator } = await abortedPayment("ignore-abort");
  expect(answers).toEqual([]);
  expect(exchange.at(-1)).toBe("060f");
  expect(bank(simulator)).toEqual(["charge 1200 final"]);
});

test("late-approval: the cancellation is taken, and the approval still comes", async () => {
  const { answers, exchange, simulator } = await abortedPayment("late-approval");
  expect(answers).toEqual(["800000"]);
  expect(exchange.at(-1)).toBe("060f");
  expect(bank(simulator)).toEqual(["charge 1200 final"]);
});

test("abort-without-code: 06 1E has no data", async () => {
  const { register } = await paying("abort-without-code");
  expect((await register.run(authorisation(1205))).at(-1)).toBe("061e00");
});

test("bare-repeat: Repeat Receipt reports nothing, once", async () => {
  const { register } = await paying("bare-repeat");
  await register.run(authorisation(1200));
  expect(await register.run(LAST_TRANSACTION)).toEqual(["800000", "060f00"]);
  expect(controls(await register.run(LAST_TRANSACTION))).toEqual(["8000", "040f", "060f"]);
});

test("unknown-fields: unknown tags in the container, and an unknown field after it", async () => {
  const { register } = await paying("unknown-fields");
  const report = decoded((await register.run(authorisation(1200)))[3]);
  expect(report.unknownField).toBe(0x76);
  expect(report.fields.resultCode).toBe(0);
  expect(report.tags?.slice(0, 3).map(({ name }) => name)).toEqual([null, null, null]);
});

test("no-timeout-byte: the container follows the status at once", async () => {
  const { register } = await paying("no-timeout-byte");
  const [, first, second] = await register.run(authorisation(1200));
  expect(first?.slice(4 + 2, 4 + 6)).toBe("0a06");
  expect(second?.slice(4 + 2, 4 + 8)).toBe("040306");
});

test("charset: texts come in a set that was not agreed", async () => {
  const { register } = await started("tcp", { behaviour: { language: "fr" } }).then(
    async (opened) => {
      await opened.register.run(REGISTRATION);
      opened.simulator.arm("charset:set=utf8");
      return opened;
    },
  );
  const [, prompt] = await register.run(authorisation(1200));
  const apdu = decodeApdu(fromHex(String(prompt)));
  const [line] = findTags(
    decodeMessage(apdu, { charset: "utf8" }).tags,
    "displayTexts",
    "textLine",
  );
  expect(line?.value).toBe("Insérez la carte");
});

test("print-container: the receipt type stands after the text of a print line", async () => {
  const { register } = await paying("print-container:times=0", WITH_PRINT_LINES);
  const messages = await register.run(authorisation(1200));
  const lines = messages.filter((message) => message.startsWith("06d1"));
  expect(lines.length).toBeGreaterThan(20);
  expect(lines.every((line) => /06041f07010[12]$/.test(line))).toBe(true);
});

test("a fault strikes as often as armed, after as many skipped chances as armed", async () => {
  const { register, simulator } = await paying("refuse:times=2,skip=1");
  const ends: (string | undefined)[] = [];
  for (let i = 0; i < 4; i++) ends.push((await register.run(authorisation(1200))).at(-1));
  expect(ends).toEqual(["060f00", "848300", "848300", "060f00"]);
  expect(simulator.faults.armed).toEqual([]);
});

test("a fault of another command leaves payments alone", async () => {
  const { register, simulator } = await paying("refuse:command=0501");
  expect((await register.run(authorisation(1200))).at(-1)).toBe("060f00");
  expect(await register.run("0501 00")).toEqual(["848300"]);
  expect(simulator.faults.armed).toEqual([]);
});

test("refuse: the register's next command is answered, even right after its ACK", async () => {
  const { register, simulator } = await started("pty");
  simulator.arm("refuse");
  register.sendsAck = false;
  register.send(authorisation(1200));
  expect(await register.nextApdu()).toBe("848300");
  register.sendsAck = true;
  register.sendBytes(`06${hex(encodeFrame(fromHex(STATUS)))}`);
  expect((await register.nextApdu()).slice(0, 4)).toBe("8000");
  expect((await register.nextApdu()).slice(0, 4)).toBe("060f");
});

test.each([LAST_TRANSACTION, "0612 07 000000 0001 0001"])(
  "fail: %s ends with 06 1E and prints nothing",
  async (command) => {
    const { register, simulator } = await paying(`fail:command=${command.slice(0, 4)}`);
    await register.run(authorisation(1200));
    expect(await register.run(command)).toEqual(["800000", "061e01a1"]);
    expect(simulator.faults.armed).toEqual([]);
    expect((await register.run(command)).at(-1)).toBe("060f00");
  },
);

async function paying(fault: string, registration = REGISTRATION) {
  const opened = await started("tcp");
  await opened.register.run(registration);
  opened.simulator.arm(fault);
  return opened;
}

/** Cancels while the terminal waits for the customer, who then presents a card. */
async function abortedPayment(fault: string) {
  const opened = await started("tcp", { behaviour: { customer: "manual" } });
  const { register, simulator } = opened;
  await register.run("0600 06 000000 36 0978");
  simulator.arm(fault);
  register.send(authorisation(1200));
  expect(await register.nextApdu()).toBe("800000");
  await expect.poll(() => simulator.terminal.parts.customer.wanted).not.toBeNull();
  const exchange = register.attempt(ABORT, 1_000);
  await expect.poll(() => abortsHeard(simulator)).toBe(1);
  simulator.terminal.parts.customer.act({ action: "insert" });
  const [first, ...rest] = await exchange;
  const refused = first?.startsWith("84");
  const remaining = refused ? await register.attempt("", 1_000) : rest;
  return {
    ...opened,
    answers: first && /^8[04]/.test(first) ? [`${first}00`] : [],
    exchange: [...(first && !/^8[04]/.test(first) ? [first] : []), ...remaining],
  };
}

function abortsHeard({ terminal }: Awaited<ReturnType<typeof started>>["simulator"]): number {
  return terminal.trace.last(50).filter(({ message }) => message === "06b0 abort").length;
}

function decoded(apdu: string | undefined) {
  return decodeMessage(decodeApdu(fromHex(String(apdu))));
}
