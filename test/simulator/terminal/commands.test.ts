import { describe, expect, test } from "vitest";
import { usage } from "../../../src/launcher/arguments.ts";
import { protocols } from "../../../src/simulator/terminal/registry.ts";
import { PATIENCE_MS } from "../../support/clocks/patience.ts";
import { pageText } from "../../support/files/pages.ts";
import * as french from "./concert/support/started.ts";
import { authorisation, bank, REGISTRATION_WITHOUT_PRINT, started } from "./support/started.ts";

function calls(url: string | undefined) {
  const say = async (command: string, asked: object = {}) => {
    const response = await fetch(`${url}/words`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ word: command, ...asked }),
    });
    const body = (await response.json()) as { done?: string; error?: string };
    return body.done ?? `${response.status} ${body.error}`;
  };
  const get = async (path: string) =>
    (await (await fetch(`${url}${path}`)).json()) as Record<string, unknown>;
  return { say, get };
}

/** Without version and container. */
const STATUS = "0501 05 000000 0302";

async function controlled() {
  const at = await started("tcp", { controlPort: 0, behaviour: { customer: "manual" } });
  await at.register.run(REGISTRATION_WITHOUT_PRINT);
  return { ...at, ...calls(at.simulator.controlUrl) };
}

describe("a command for the simulated terminal", () => {
  test("plays the customer, whatever the amount says, and waits for the terminal", async () => {
    const { register, say, simulator } = await controlled();
    expect(await say("approve")).toBe("409 the terminal is not waiting for that");
    const paying = say("approve", { card: "visa", within: 20 });
    expect((await register.run(authorisation(1205))).at(-1)).toBe("060f00");
    expect(await paying).toBe("approve");
    const ends = [];
    for (const [command, asked] of [
      ["decline", { code: 51 }],
      ["wrong-pin", { card: "girocard" }],
      ["other-card", {}],
      ["red", {}],
      ["walk-away", {}],
      ["insert", {}],
    ] as const) {
      const said = say(command, { ...asked, within: 20 });
      const heard = await register.run(authorisation(1200));
      expect(await said).toBe(command);
      // docs/zvt.md 11.4: a wrong PIN is reported by a report of its own.
      // The result code comes first; the time of a later field can be 27:37 too.
      const wrongPin = heard.some((message) => /^040f..2737/.test(message));
      ends.push([command, heard.at(-1), ...(wrongPin ? ["37"] : [])]);
    }
    expect(ends).toEqual([
      ["decline", "061e0133"],
      ["wrong-pin", "060f00", "37"],
      ["other-card", "061e017a"],
      ["red", "061e016c"],
      ["walk-away", "061e016c"],
      ["insert", "060f00"],
    ]);
    expect(bank(simulator)).toEqual([
      "charge 1205 final",
      "charge 1200 final",
      "charge 1200 final",
    ]);
  });

  test("to insert a card names the command that helps where the customer pays alone", async () => {
    const { simulator } = await started("tcp", { controlPort: 0 });
    const { say } = calls(simulator.controlUrl);
    expect(await say("approve")).toBe(
      "409 the terminal is not waiting for that: its customer pays alone, say by-hand first",
    );
  });

  test("asks for the PIN on the keys: three wrong PINs decline, the red key ends it", async () => {
    const { register, say, get } = await controlled();
    const tooOften = register.run(authorisation(1200));
    expect(await say("ask-pin", { within: 20 })).toBe("ask-pin");
    for (const time of [1, 2, 3]) {
      expect([time, await say("pin", { value: "0000", within: 20 })]).toEqual([time, "pin"]);
    }
    expect((await tooOften).at(-1)).toBe("061e014b");
    const stopped = register.run(authorisation(1200));
    await say("ask-pin", { within: 20 });
    await expect
      .poll(() => get("/state"))
      .toMatchObject({
        wants: "digits",
        screen: { stage: "pin", text: "Enter PIN", amount: "12.00 EUR" },
      });
    await say("red");
    expect((await stopped).at(-1)).toBe("061e016c");
    const right = register.run(authorisation(1200));
    await say("ask-pin", { within: 20 });
    // Without digits the green key is no PIN.
    expect(await say("green", { within: 20 })).toBe("green");
    await say("pin", { value: "0000", within: 20 });
    await say("pin", { value: "1234", within: 20 });
    expect((await right).at(-1)).toBe("060f00");
  });

  test("locks, empties, unplugs and switches off, until it says the opposite", async () => {
    const { register, say, get, reconnect, simulator } = await controlled();
    const status = async () => (await register.run(STATUS)).at(-1);
    await say("paper-out");
    expect(await status()).toBe("060f01cc");
    await say("paper-in");
    await say("lock");
    expect(await status()).toBe("060f01df");
    await say("unlock");
    await say("busy");
    expect(await register.run(STATUS)).toEqual(["849c00"]);
    await say("free");
    expect(await get("/state")).toMatchObject({ condition: "ready", customer: "manual" });
    await say("unregister");
    expect(await get("/state")).toMatchObject({ condition: "unregistered" });
    await say("swap");
    expect(simulator.terminal.parts.device.serialNumber).toBe("0000000000123457");
    await say("unplug");
    await say("power-off");
    await say("plug");
    expect(await get("/state")).toMatchObject({ cableIn: true, powered: false });
    await expect(reconnect()).rejects.toThrow();
    await say("by-itself");
    await say("reset");
    expect(await get("/state")).toMatchObject({ cableIn: true, powered: true, customer: "manual" });
    expect(simulator.terminal.parts.device.serialNumber).toBe("0000000000123456");
    const back = () =>
      reconnect().then(
        ({ run }) => run !== undefined,
        () => false,
      );
    await expect.poll(back, { timeout: PATIENCE_MS }).toBe(true);
    await simulator.unplug(3_600_000);
    await say("plug");
    await expect.poll(back, { timeout: PATIENCE_MS }).toBe(true);
  });

  test("arms a fault at a moment, and reset ends a payment that waits for hands", async () => {
    const { register, say, get } = await controlled();
    expect(await say("unplug", { at: "report", ms: 5 })).toBe("unplug");
    expect(await say("fault", { value: "mute", at: "completion" })).toBe("fault");
    expect(await get("/faults")).toMatchObject({
      armed: [
        { name: "unplug", arguments: { at: "report", ms: 5 } },
        { name: "mute", arguments: { at: "completion" } },
      ],
      kinds: { mute: { description: expect.stringMatching(/fall silent/) } },
      points: { report: "before 04 0F" },
    });
    const paying = register.run(authorisation(1200));
    await expect.poll(() => get("/state")).toMatchObject({ wants: "card" });
    expect(await say("reset")).toBe("reset");
    expect((await paying).at(-1)).toBe("061e016c");
    expect((await get("/faults"))["armed"]).toEqual([]);
  });

  test.each([
    ["dance", {}, /^400 there is no dance; there are approve, decline/],
    ["approve", { card: "gold" }, /^400 .*Invalid option/],
    ["decline", { code: "all" }, /^400 /],
    ["fault", { value: "earthquake" }, /^400 there is no fault earthquake/],
    ["unplug", { at: "noon" }, /^400 /],
    ["constructor", {}, /^400 there is no constructor/],
  ])("that cannot be carried out says why: %s", async (command, asked, why) => {
    const { say } = await controlled();
    expect(await say(command, asked)).toMatch(why);
  });

  test("in the launcher's help is a command of the terminal", async () => {
    const { get } = await controlled();
    const known = ((await get("/words")) as unknown as { word: string }[]).map(
      ({ word: command }) => command,
    );
    const [, named = ""] = /simulate WORD .*?: ([\s\S]*?), and more/.exec(usage) ?? [];
    const commands = named.split(",").map((one) => one.trim().split(" ")[0]);
    expect(commands.length).toBeGreaterThan(8);
    expect(commands.filter((command) => !known.includes(command ?? ""))).toEqual([]);
  });
});

describe.each(["concert", "caisse-ap"] as const)("at a terminal of %s, a command", (family) => {
  const setting = { transport: "tcp", family, sessions: family === "concert" } as const;
  test("pays, declines, asks for the PIN and is busy as with ZVT", async () => {
    const { simulator, register } = await french.started(setting, {
      controlPort: 0,
      behaviour: { customer: "manual" },
    });
    const { say, get } = calls(simulator.controlUrl);
    const ask = (amount: number) =>
      family === "concert"
        ? void register.ask(french.fixedRequest(amount), PATIENCE_MS)
        : register.say(french.taggedRequest(amount));
    ask(1205);
    await say("ask-pin", { within: 20 });
    await say("pin", { value: "0000", within: 20 });
    await expect.poll(() => get("/state")).toMatchObject({ screen: { stage: "pin" } });
    await say("pin", { value: "4711", within: 20 });
    await expect
      .poll(() => get("/state"))
      .toMatchObject({
        screen: { stage: "approved", amount: "12.05 EUR" },
        condition: "ready",
      });
    expect(french.bank(simulator)).toEqual(["charge 1205"]);
    expect(await say("unregister")).toBe("400 this protocol has no registration");
    await say("busy");
    expect(await get("/state")).toMatchObject({ busy: true });
  });
});

test("a fault that the line cannot have is not offered, and is refused", async () => {
  const bare = { transport: "tcp", family: "caisse-ap", sessions: false } as const;
  const { simulator } = await french.started(bare, { controlPort: 0 });
  const { say, get } = calls(simulator.controlUrl);
  const { kinds } = (await get("/faults")) as { kinds: object };
  expect(Object.keys(kinds)).toEqual(expect.arrayContaining(["refuse-connection", "close"]));
  expect(kinds).not.toHaveProperty("late-ack");
  expect(await say("fault", { value: "late-ack" })).toBe(
    "400 fault late-ack cannot strike here: this terminal has no sessions",
  );
  expect(await say("fault", { value: "close" })).toBe("fault");
});

test("docs/simulators.md has the moments of each protocol", () => {
  const rows = [...pageText("docs/simulators.md").matchAll(/^\| ([^|]+) \| ((?:`\w+` ?)+) \|/gm)];
  const documented = rows.flatMap(([, titles = "", moments = ""]) =>
    titles.split(", ").map((title) => [title, moments.match(/\w+/g)]),
  );
  expect(documented).toEqual(
    protocols.map(({ title, faults }) => [title, Object.keys(faults.points)]),
  );
});
