import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type InstallationOptions, TestInstallation } from "../support/installation.ts";

/** A terminal, and the settings that make the connector speak to it. */
interface Spoken {
  readonly title: string;
  readonly switches: readonly string[];
  readonly config: Readonly<Record<string, string>>;
}

const concert = (variant: string): Spoken => ({
  title: `Concert ${variant}`,
  switches: ["--protocol", "concert", "--variant", variant],
  config: { TERMINAL_PROTOCOL: "concert", CONCERT_VARIANT: variant },
});
const caisseAp = (link: string): Spoken => ({
  title: `Caisse-AP, ${link}`,
  switches: ["--protocol", "caisse-ap", ...(link === "session" ? ["--session"] : [])],
  config: { TERMINAL_PROTOCOL: "caisse-ap", CAISSE_AP_LINK: link },
});
const lines = process.platform === "linux" ? (["tcp", "pty"] as const) : (["tcp"] as const);
const spoken = [
  concert("e"),
  concert("e-plus"),
  concert("e-ticket"),
  caisseAp("bare"),
  caisseAp("session"),
];
const rows = lines.flatMap((line) => spoken.map((one) => ({ ...one, line })));

const optionsOf = ({ line, switches, config }: (typeof rows)[number]): InstallationOptions => ({
  line,
  terminalSwitches: [...switches, "--instant"],
  config: { ...config, GATEWAY_WAIT: 20_000 },
});
/** One installation, which gets one terminal after the other. */
let house: TestInstallation | undefined;
afterAll(() => house?.stop());

describe.each(rows)("a whole installation with $title on $line", (row) => {
  const order = (number: number): string => `${row.title} ${row.line} ${number}`;
  let at: TestInstallation;
  beforeAll(async () => {
    if (house) await house.changeTerminal(optionsOf(row));
    else {
      house = new TestInstallation(optionsOf(row));
      await house.start();
    }
    at = house;
    await at.connected();
  });

  test("bank and gateway agree with what the kiosk is told", async () => {
    const before = (await at.orders()).length;
    const { http, one } = await at.pay(12, order(1), { customData: { kiosk: "K-1" } });
    expect([http, one.status, one.error]).toEqual([200, "Success", null]);
    expect(one.receipt).toMatchObject({ amount: "00001200", currencyNumCode: "978" });
    expect(one.receipt["primaryAccountNumber"]).toMatch(/^541333X{6}0006$/);
    expect(one.ticket).not.toBe("");

    const declined = await at.pay(12.05, order(2));
    expect([declined.one.status, declined.one.error?.charged]).toEqual(["Declined", "no"]);
    const away = await at.pay(12.68, order(3));
    expect(away.one.error?.charged).toBe("no");

    const again = await at.pay(12, order(1));
    expect(again.headers.get("idempotent-replay")).toBe("true");
    expect((await at.pay(7, order(4))).one.status).toBe("Success");

    const { charged, entries } = await at.ledger();
    expect([charged, entries.map(({ kind }) => kind)]).toEqual([1_900, ["charge", "charge"]]);
    const all = await at.orders();
    const orders = all
      .slice(0, all.length - before)
      .map(({ merchantReference, amount }) => [merchantReference, Number(amount)]);
    expect(orders).toEqual([
      [order(4), 7],
      [order(1), 12],
    ]);
  });

  test("nothing that the terminal cannot do reaches it", async () => {
    const before = (await at.ledger()).entries.length;
    for (const path of ["/cancel", "/tlc"]) {
      const { http } = await at.call("GET", path);
      expect(`${path} ${http}`).toBe(`${path} 501`);
    }
    const { one } = await at.call("GET", "/check");
    expect(one).toMatchObject({ cr: "0", card: "0", call: "0", periph: "0" });
    expect((await at.ledger()).entries).toHaveLength(before);
  });
});
