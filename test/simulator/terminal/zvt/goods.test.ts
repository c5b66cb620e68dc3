import { expect, test } from "vitest";
import { authorisation, bank, controls, LAST_TRANSACTION, started } from "../support/started.ts";

/** Issue of goods (docs/zvt.md 8.1): the answer to 04 0F says what came out. */

const VENDING = { behaviour: { vending: true } } as const;
/** Two seconds for the goods, at most two more questions. */
const TWO_PHASE = "0601 0e 04 000000003300 49 0978 01 02 02 02";

test("a vending terminal says so at registration", async () => {
  const { register } = await started("tcp", VENDING);
  const [, completion] = await register.run("0600 06 000000 36 0978");
  expect(completion).toBe("060f0a19102952500042490978");
});

test("goods that are not ready are asked for again, and the payment stands", async () => {
  const { messages, simulator } = await sale(["849c00", "849c00", "800000"]);
  expect(controls(messages)).toEqual(["8000", "040f", "040f", "040f", "060f"]);
  expect(bank(simulator)).toEqual(["charge 3300 final"]);
});

test("a sale is reversed when the goods did not come out", async () => {
  const { messages, simulator } = await sale(["846600"]);
  expect(messages.at(-1)).toBe("061e016c");
  expect(bank(simulator)).toEqual(["charge 3300", "reversal 3300 final goods-not-issued"]);
});

test("asking more often than agreed ends the sale", async () => {
  const { messages, simulator } = await sale(["849c00", "849c00", "849c00", "800000"]);
  expect(controls(messages)).toEqual(["8000", "040f", "040f", "040f", "040f", "061e"]);
  expect(messages.at(-2)).toBe("040f07276c2952500042");
  expect(bank(simulator)).toEqual(["charge 3300", "reversal 3300 final goods-not-issued"]);
});

test("a sale is charged in part when a part of the goods came out", async () => {
  const { messages, simulator, register } = await sale(["849d0704000000002200"]);
  expect(messages.at(-1)).toBe("060f00");
  expect(bank(simulator)).toEqual(["charge 3300 final", "reversal 1100 final goods-partly-issued"]);
  expect(simulator.ledger.charged).toBe(2200);
  const [, last] = await register.run(LAST_TRANSACTION);
  expect(last).toContain("04000000002200");
});

test("a sale is reversed when the goods that came out have no value", async () => {
  const { messages, simulator } = await sale(["849d0704000000000000"]);
  expect(messages.at(-1)).toBe("061e016c");
  expect(simulator.ledger.charged).toBe(0);
});

test("without an answer in the agreed seconds the sale is reversed, on an open line", async () => {
  const { register, simulator } = await started("tcp", { timers: { t3Ms: 100 } });
  await register.run("0600 06 000000 36 0978");
  register.send("0601 0c 04 000000003300 49 0978 01 01");
  expect(await register.nextApdu()).toBe("800000");
  const before = performance.now();
  expect(await register.nextApdu()).toMatch(/^040f/);
  expect(await register.nextApdu()).toBe("061e016c");
  expect(performance.now() - before).toBeGreaterThan(900);
  register.send("800000");
  expect(bank(simulator)).toEqual(["charge 3300", "reversal 3300 final not-acknowledged"]);
  expect((await register.run(authorisation(1000))).at(-1)).toBe("060f00");
});

test("a late 'ask again' is refused", async () => {
  const { register, simulator } = await started("tcp", { pace: { goodsPauseMs: 300 } });
  await register.run("0600 06 000000 36 0978");
  register.send(TWO_PHASE);
  expect(await register.nextApdu()).toBe("800000");
  expect(await register.nextApdu()).toMatch(/^040f/);
  register.send("849c00");
  register.send("849c00");
  expect(await register.nextApdu()).toBe("848300");
  expect(await register.nextApdu()).toMatch(/^040f/);
  register.send("800000");
  expect(await register.nextApdu()).toBe("060f00");
  register.send("800000");
  await simulator.terminal.idle();
  expect(bank(simulator)).toEqual(["charge 3300 final"]);
});

/** Runs the sale, answering its reports with these answers in order. */
async function sale(answers: readonly string[]) {
  const opened = await started("tcp", VENDING);
  await opened.register.run("0600 06 000000 36 0978");
  const left = [...answers];
  const messages = await opened.register.run(TWO_PHASE, (apdu) =>
    apdu.startsWith("040f") ? (left.shift() ?? "800000") : "800000",
  );
  await opened.simulator.terminal.idle();
  return { ...opened, messages };
}
