import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/programs/child-program.ts";
import {
  type Answer,
  type InstallationOptions,
  TestInstallation,
} from "../support/programs/installation.ts";
import { lines, rowsOf } from "../support/run/scope.ts";

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
const spoken = [
  concert("e"),
  concert("e-plus"),
  concert("e-ticket"),
  caisseAp("bare"),
  caisseAp("session"),
];
/** Elsewhere than in the whole scope each is spoken on one of the lines. */
const rows = rowsOf(
  lines.flatMap((line) => spoken.map((one) => ({ ...one, line }))),
  lines.length,
);

const optionsOf = ({ line, switches, config }: (typeof rows)[number]): InstallationOptions => ({
  line,
  terminalSwitches: [...switches, "--instant"],
  config: { ...config, GATEWAY_WAIT: 20_000 },
});
/** One installation, which gets one terminal after the other. */
let house: TestInstallation | undefined;
afterAll(() => house?.stop());

/** What a terminal is that has no name. */
const nobody = { serialNumber: "", deviceId: "", terminalId: "", terminalVersion: "" };
const refused = (charged: string) => ({ http: 501, code: "NOT_SUPPORTED", charged });
const summaryOf = ({ http, one }: Answer) => ({
  http,
  code: one.error?.code,
  charged: one.error?.charged,
});

/** Every call that such a terminal cannot follow, asked for while it is idle. */
async function lacking(at: TestInstallation, orderId: string) {
  const calls = (["/cancel", "/reset", "/tlc"] as const).flatMap((path) =>
    (["GET", "POST"] as const).map((method) => [method, path, undefined] as const),
  );
  const delivery = { withinSeconds: 30 };
  const all = [...calls, ["POST", "/payment", { orderId, amount: 3, delivery }] as const];
  const answers: Array<{ readonly call: string } & ReturnType<typeof summaryOf>> = [];
  for (const [method, path, body] of all) {
    answers.push({ call: `${method} ${path}`, ...summaryOf(await at.call(method, path, body)) });
  }
  return answers;
}

interface Controlled {
  readonly running: { readonly phase: string } | null;
  readonly events: readonly { readonly seq: number; readonly [name: string]: unknown }[];
}

/** How often the terminal was spoken to: connections and what came on them. */
async function heardBy(at: TestInstallation): Promise<number> {
  const { events } = await at.control<Controlled>("GET", "/trace?last=10000");
  return events.filter(({ what, direction }) => what === "open" || direction === "in").length;
}

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

  test("bank and gateway agree with what the kiosk is answered", async () => {
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

  test("a command that the terminal cannot carry out never reaches it", async () => {
    // The kiosk is answered before the terminal has read the last ACK of its session.
    await until("the terminal has ended the last payment", async () => {
      const { running } = await at.control<Controlled>("GET", "/state");
      return running === null || undefined;
    });
    const before = await heardBy(at);
    const idle = await lacking(at, order(5));
    expect(idle).toEqual(idle.map(({ call }) => ({ call, ...refused("no") })));
    const sold = { http: 501, code: "NOT_SUPPORTED", charged: "yes" };
    expect(summaryOf(await at.call("POST", "/reversal", { orderId: order(1) }))).toEqual(sold);
    const ready = { orderId: order(1), delivered: true };
    expect(summaryOf(await at.call("POST", "/delivery", ready))).toEqual(sold);
    const turnedAway = { orderId: order(2), delivered: false };
    expect(summaryOf(await at.call("POST", "/delivery", turnedAway))).toEqual(refused("no"));
    expect(summaryOf(await at.call("POST", "/reversal", { orderId: order(2) }))).toEqual(
      refused("no"),
    );
    const { one: config } = await at.call("GET", "/config");
    expect(config).toMatchObject(nobody);
    expect(await heardBy(at)).toBe(before);

    await at.arm("hold:at=card");
    const paying = at.pay(3, order(6));
    await until("the customer stands there", async () => {
      const { running } = await at.control<Controlled>("GET", "/state");
      const { events } = await at.control<Controlled>("GET", "/trace?last=10000");
      const newest = events.findLast(({ direction }) => direction === "in");
      // The payment begins at the ACK to the frame; the EOT of the session comes after it.
      const isOver = row.title.endsWith("bare") || newest?.["what"] === "eot";
      return (running?.phase === "card" && isOver) || undefined;
    });
    const during = await heardBy(at);
    expect(during).toBeGreaterThan(before);
    for (const method of ["GET", "POST"] as const) {
      expect(summaryOf(await at.call(method, "/cancel"))).toEqual(refused("unknown"));
      for (const path of ["/reset", "/tlc"]) {
        expect(summaryOf(await at.call(method, path))).toEqual(refused("no"));
      }
    }
    for (const path of ["/reversal", "/delivery"]) {
      const own = { orderId: order(6), ...(path === "/delivery" ? { delivered: true } : {}) };
      expect(summaryOf(await at.call("POST", path, own))).toEqual(refused("unknown"));
    }
    expect(summaryOf(await at.call("POST", "/reversal", { orderId: order(1) }))).toEqual(sold);
    const { one: busy } = await at.call("GET", "/check?fresh=yes");
    expect(busy.cr).toBe("1");
    expect(await heardBy(at)).toBe(during);
    await at.disarm();
    expect((await paying).one.status).toBe("Success");

    const { one } = await at.call("GET", "/check");
    expect(one).toMatchObject({ cr: "0", card: "0", call: "0", periph: "0" });
    const health = await at.call("GET", "/health");
    expect(JSON.stringify(health.one)).not.toContain("/terminal/accept");
    const { entries } = await at.ledger();
    expect(entries.map(({ kind, amountMinor }) => [kind, amountMinor])).toEqual([
      ["charge", 1_200],
      ["charge", 700],
      ["charge", 300],
    ]);
  });
});
