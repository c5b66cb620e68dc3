import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { decodeApdu, decodeMessage } from "../../../../src/zvt/index.ts";
import { temporaryFolder } from "../../../support/files/temporary-folder.ts";
import { type Line, linesOr } from "../../../support/run/scope.ts";
import {
  ABORT,
  authorisation,
  bank,
  controls,
  END_OF_DAY,
  REGISTRATION,
  REGISTRATION_WITHOUT_PRINT,
  STATUS,
  started,
} from "../support/started.ts";
import { fromHex, type ScriptedRegister } from "./support/register.ts";

const PASSWORD = "000000";
const SET_ID = `061b 08 ${PASSWORD} 29 87654321`;
const WRITE = `0814 10 ${PASSWORD} 060b 2d09 1d01 23 1f0003 00000a`;

describe.each(linesOr("tcp"))("over %s", (transport) => {
  test("the terminal id is set while nothing is stored", async () => {
    const { register, simulator } = await registered(transport);
    await register.run(authorisation(1200));
    expect((await register.run(SET_ID)).at(-1)).toBe("061e0183");
    await register.run(END_OF_DAY);
    expect((await register.run(SET_ID)).at(-1)).toBe("060f00");
    expect(simulator.terminal.parts.device.terminalId).toBe("87654321");
    expect((await register.run(STATUS)).at(-1)).toContain("1f440487654321");
    expect((await register.run(authorisation(1300))).join()).toContain("2987654321");
    expect(await register.run(`061b 03 ${PASSWORD}`)).toEqual(["849a00"]);
  });

  test("a changed password is the one that counts", async () => {
    const { register } = await registered(transport, { device: { password: "000000" } });
    expect(await register.run("0695 06 111111 222222")).toEqual(["843700"]);
    expect((await register.run("0695 06 000000 222222")).at(-1)).toBe("060f00");
    expect(await register.run(END_OF_DAY)).toEqual(["843700"]);
    expect((await register.run("0650 03 222222")).at(-1)).toBe("060f00");
  });

  test("selftest, configuration and offline transactions end with 06 0F", async () => {
    const { register } = await started(transport);
    await register.run(REGISTRATION);
    expect(controls(await register.run("0679 00"))).toEqual(["8000", "04ff", "06d3", "060f"]);
    expect(controls(await register.run("061a 00"))).toEqual(["8000", "06d3", "060f"]);
    expect(controls(await register.run(`0651 03 ${PASSWORD}`))).toEqual(["8000", "04ff", "060f"]);
  });

  test("service mode keeps the terminal busy until a person leaves the menu", async () => {
    const { register, simulator } = await started(transport, { behaviour: { customer: "manual" } });
    await register.run(REGISTRATION);
    const serving = register.run("0801 00");
    await expect.poll(() => simulator.terminal.parts.customer.wanted).not.toBeNull();
    simulator.terminal.parts.customer.act({ action: "key", key: "stop" });
    expect(controls(await serving)).toEqual(["8000", "04ff", "06d3", "060f"]);
  });

  test("a file is written block by block, and deleted", async () => {
    const { register, simulator } = await registered(transport);
    const block = (bytes: string) => {
      const size = (bytes.length / 2).toString(16).padStart(2, "0");
      const all = `1d01231c${size}${bytes}`;
      const length = (all.length / 2).toString(16).padStart(2, "0");
      const outer = (all.length / 2 + 2).toString(16).padStart(2, "0");
      const total = (all.length / 2 + 4).toString(16).padStart(2, "0");
      return `8000${total}06${outer}2d${length}${all}`;
    };
    const asked: string[] = [];
    const messages = await register.run(WRITE, (apdu) => {
      if (!apdu.startsWith("040c")) return "800000";
      asked.push(apdu.slice(-8));
      return block(apdu.endsWith("00000000") ? "010203040506" : "0708090a");
    });
    expect(controls(messages)).toEqual(["8000", "040c", "040c", "060f"]);
    expect(asked).toEqual(["00000000", "00000006"]);
    const file = simulator.terminal.parts.files.get(0x23) ?? new Uint8Array(0);
    expect([...file]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect((await register.run("0812 07 0605 2d03 1d01 23")).at(-1)).toBe("060f00");
    expect((await register.run("0812 07 0605 2d03 1d01 23")).at(-1)).toBe("061e0183");
  });

  test("a file is not written when it is refused, empty or too large", async () => {
    const { register, simulator } = await registered(transport);
    const refused = await register.run(WRITE, (apdu) =>
      apdu.startsWith("040c") ? "846600" : "800000",
    );
    expect(refused.at(-1)).toBe("061e0166");
    const empty = await register.run(WRITE);
    expect(empty.at(-1)).toBe("061e019a");
    const big = `0814 10 ${PASSWORD} 060b 2d09 1d01 23 1f0003 ffffff`;
    expect((await register.run(big)).at(-1)).toBe("061e01b1");
    expect(simulator.terminal.parts.files.size).toBe(0);
    expect(await register.run(`0814 03 ${PASSWORD}`)).toEqual(["849a00"]);
    expect(await register.run("0811 07 0605 2d03 1d01 23")).toEqual(["848300"]);
  });

  test("a configuration is taken, an empty one is not", async () => {
    const { register } = await registered(transport);
    expect((await register.run("0813 07 0605 2d03 1c01 ff")).at(-1)).toBe("060f00");
    expect(await register.run("0813 00")).toEqual(["849a00"]);
  });

  test("a software update completes first, then the terminal is away", async () => {
    const { register, reconnect, simulator } = await registered(transport);
    const messages = await register.run("0810 00");
    expect(messages.at(-1)).toMatch(/^060f0a27000c\d{6}aa\d{6}$/);
    expect(await register.next()).toBe("closed");
    await register.close();
    let again: ScriptedRegister | undefined;
    const comesBack = async () => {
      again = await reconnect().catch(() => undefined);
      return again !== undefined;
    };
    await expect.poll(comesBack).toBe(true);
    expect(controls((await again?.run(STATUS)) ?? [])).toEqual(["8000", "060f"]);
    expect(simulator.terminal.parts.registration.registered).toBe(false);
  });

  test("with another protocol switched on ZVT is not understood any more", async () => {
    const { register, simulator } = await registered(transport);
    expect(await register.run("0802 01 00")).toEqual(["800000"]);
    register.send(STATUS);
    await expect
      .poll(() => simulator.terminal.trace.last(3).some(({ note }) => note === "ZVT is off"))
      .toBe(true);
    expect(simulator.terminal.running).toBeUndefined();
    simulator.terminal.parts.zvtOff = false;
  });

  test("a locked terminal carries out what the list allows, and refuses the rest", async () => {
    const { register, simulator } = await registered(transport);
    simulator.terminal.parts.memory.demand("initialisation", true);
    for (const command of ["0601 07 04 000000001200", "0618 00", "0679 00", SET_ID]) {
      expect((await register.run(command)).at(-1), command).toBe("061e0151");
    }
    for (const command of ["06e0 00", "06c0 01 01", ABORT, STATUS, "0850 00", "0801 00"]) {
      expect((await register.run(command)).at(-1), command).not.toMatch(/^(061e|84)/);
    }
    expect((await register.run(`0693 03 ${PASSWORD}`)).at(-1)).toBe("060f00");
    expect((await register.run(authorisation(1200))).at(-1)).toBe("060f00");
  });

  test.each([
    { demand: "initialisation", status: "51", cure: `0693 03 ${PASSWORD}` },
    { demand: "diagnosis", status: "c2", cure: "0670 00" },
    { demand: "clock", status: "62", cure: `0691 0b ${PASSWORD} aa 260301 0c 120000` },
    { demand: "clock", status: "62", cure: "0670 00" },
    { demand: "storage-full", status: "b1", cure: END_OF_DAY },
    { demand: "end-of-day", status: "f0", cure: END_OF_DAY },
    { demand: "update", status: "c4", cure: "0810 00" },
  ] as const)("status $status is cured by $cure", async ({ demand, status, cure }) => {
    const { register, simulator } = await registered(transport);
    const { memory } = simulator.terminal.parts;
    memory.demand(demand, true);
    expect((await register.run(STATUS)).at(-1)).toMatch(new RegExp(`^060f..${status}`));
    expect((await register.run(authorisation(1200))).at(-1)).toBe(`061e01${status}`);
    expect((await register.run(cure)).at(-1)).toMatch(/^060f/);
    expect(memory.demands).toEqual([]);
  });

  test("a starting terminal demands configuration, initialisation and diagnosis", async () => {
    const { register, simulator } = await registered(transport);
    simulator.terminal.parts.memory.demand("configuration", true);
    expect((await register.run(STATUS)).at(-1)).toMatch(/^060f..51.*1f55024000/);
    expect((await register.run(`0693 03 ${PASSWORD}`)).at(-1)).toBe("061e0151");
    for (const command of ["0813 07 0605 2d03 1c01 ff", `0693 03 ${PASSWORD}`, "0670 00"]) {
      expect((await register.run(authorisation(1200))).at(-1)).toMatch(/^061e01(51|c2)$/);
      expect((await register.run(command)).at(-1), command).toBe("060f00");
    }
    expect((await register.run(authorisation(1200))).at(-1)).toBe("060f00");
  });

  test("where registration comes first, a command that needs it is refused before", async () => {
    const { register, simulator } = await started(transport, {
      behaviour: { registrationRequired: true },
    });
    for (const command of [authorisation(1200), END_OF_DAY, `0620 05 ${PASSWORD} 0303`, SET_ID]) {
      expect(await register.run(command), command).toEqual(["846b00"]);
    }
    expect(controls(await register.run(STATUS))).toEqual(["8000", "060f"]);
    await register.run(REGISTRATION_WITHOUT_PRINT);
    expect((await register.run(authorisation(1200))).at(-1)).toBe("060f00");
    expect(bank(simulator)).toEqual(["charge 1200 final"]);
  });
});

test("terminal id and password outlive the program with a state file", async () => {
  const folder = temporaryFolder();
  const stateFile = join(folder, "state.sqlite");
  const first = await started("tcp", { stateFile });
  await first.register.run(SET_ID);
  await first.register.run("0695 06 000000 222222");
  await first.register.close();
  await first.simulator.close();
  const { register } = await started("tcp", { stateFile });
  expect((await register.run(STATUS)).at(-1)).toBe("843700");
  expect((await register.run("0501 05 222222 0306")).at(-1)).toContain("1f440487654321");
});

type Options = Parameters<typeof started>[1];

async function registered(transport: Line, options?: Options) {
  const at = await started(transport, options);
  await at.register.run(REGISTRATION_WITHOUT_PRINT);
  return at;
}

test("the telephone's number stands in the report of a telephonic authorisation", async () => {
  const { register, simulator } = await registered("tcp");
  const order = "04 000000001200 49 0978";
  expect(await register.run(`0621 0d ${PASSWORD} ${order}`)).toEqual(["849a00"]);
  const messages = await register.run(`0621 16 ${PASSWORD} ${order} 3b 4142433132330000`);
  const report = decodeMessage(decodeApdu(fromHex(String(messages.at(-2)))));
  expect(report.fields.authorisationAttribute).toBe("ABC123");
  expect(bank(simulator)).toEqual(["charge 1200 final"]);
});
