import { describe, expect, test } from "vitest";
import { decodeApdu, decodeMessage } from "../../../../src/zvt/index.ts";
import { type Line, linesOr } from "../../../support/run/scope.ts";
import {
  authorisation,
  bank,
  controls,
  REGISTRATION,
  REGISTRATION_WITHOUT_PRINT,
  started,
} from "../support/started.ts";
import { fromHex } from "./support/register.ts";

const PASSWORD = "000000";
const WITH_TIP = "0601 0c 04 000000001200 49 0978 19 48";
const TIP = "060c 0d 04 000000000150 87 0001 49 0978";
const TELEPHONIC = `0621 16 ${PASSWORD} 04 000000001200 49 0978 3b 4142433132330000`;

describe.each(linesOr("pty"))("over %s", (transport) => {
  test("a tip is booked once, on a payment that allowed it", async () => {
    const { register, simulator } = await registered(transport);
    const paid = await register.run(WITH_TIP);
    expect(paid.at(-2)).toMatch(/1f3b0101$/);
    expect((await register.run(TIP)).at(-1)).toBe("060f00");
    expect(bank(simulator)).toEqual(["charge 1200 final", "charge 150 final"]);
    expect((await register.run(TIP)).at(-1)).toBe("061e0183");
    const [, , last] = await register.run(`0610 03 ${PASSWORD}`);
    expect(decoded(last).fields.amount).toBe(1350);
  });

  test("without leave there is no tip, and one without ACK is taken back", async () => {
    const { register, simulator } = await registered(transport);
    await register.run(authorisation(1200));
    expect((await register.run(TIP)).at(-1)).toBe("061e0183");
    await register.run(WITH_TIP);
    const tip = TIP.replace("87 0001", "87 0002");
    const refused = await register.run(tip, (apdu) =>
      apdu.startsWith("040f") ? "846600" : "800000",
    );
    expect(refused.at(-1)).toBe("061e016c");
    expect(simulator.ledger.charged).toBe(2400);
    expect((await register.run(tip)).at(-1)).toBe("060f00");
    expect(simulator.ledger.charged).toBe(2550);
  });

  test("a telephonic authorisation is for credit cards", async () => {
    const { register, simulator } = await registered(transport);
    expect((await register.run(TELEPHONIC)).at(-1)).toBe("060f00");
    expect(bank(simulator)).toEqual(["charge 1200 final"]);
    const other = await registered(transport, { behaviour: { card: "girocard" } });
    expect((await other.register.run(TELEPHONIC)).at(-1)).toBe("061e0167");
    expect(bank(other.simulator)).toEqual([]);
  });

  test("a girocard reservation is not reversed by the register", async () => {
    const { register, simulator } = await registered(transport, {
      behaviour: { card: "girocard" },
    });
    await register.run("0622 0a 04 000000005000 49 0978");
    expect((await register.run("0625 06 87 0001 49 0978")).at(-1)).toBe("061e0167");
    expect(bank(simulator)).toEqual(["reservation 5000 final"]);
  });

  test("the balance of a card falls with what was paid", async () => {
    const { register } = await registered(transport);
    await register.run(authorisation(1200));
    const messages = await register.run("0603 00");
    expect(controls(messages)).toEqual(["8000", "04ff", "04ff", "040f", "060f"]);
    expect(decoded(messages[3]).fields.amount).toBe(98_800);
    expect(decoded((await register.run(authorisation(1200)))[3]).fields.receiptNumber).toBe("0002");
  });

  test("stored receipts are printed again, by their numbers", async () => {
    const { register } = await started(transport);
    await register.run(REGISTRATION);
    for (const amount of [1200, 1300, 1400]) await register.run(authorisation(amount));
    const both = await register.run(`0612 07 ${PASSWORD} 0002 0003`);
    expect(controls(both)).toEqual(["8000", "06d3", "06d3", "06d3", "06d3", "060f"]);
    expect(controls(await register.run(`0612 05 ${PASSWORD} 0001`))).toHaveLength(4);
    expect((await register.run(`0612 05 ${PASSWORD} 0009`)).at(-1)).toBe("061e0183");
    expect(await register.run(`0612 05 ${PASSWORD} ffff`)).toEqual(["849a00"]);
    const noPaper = await register.run(`0612 05 ${PASSWORD} 0001`, (apdu) =>
      apdu.startsWith("06d3") ? "84cc00" : "800000",
    );
    expect(noPaper.at(-1)).toBe("061e01cc");
  });
});

type Options = Parameters<typeof started>[1];

async function registered(transport: Line, options?: Options) {
  const at = await started(transport, options);
  await at.register.run(REGISTRATION_WITHOUT_PRINT);
  return at;
}

function decoded(apdu: string | undefined) {
  return decodeMessage(decodeApdu(fromHex(String(apdu))));
}
