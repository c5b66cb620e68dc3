import { afterAll, expect, test } from "vitest";
import type { Exchange } from "../../../src/supervisor/gateway/http-connections.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { isWhole } from "../../support/run/scope.ts";
import {
  absent,
  answered,
  most,
  type Outage,
  openTroubled,
  orderOf,
  sum,
} from "./troubled-gateway.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** OUTAGE_ORDERS=10000 is what docs/evidence.md was measured with. */
const ORDERS = Number(process.env["OUTAGE_ORDERS"] ?? (isWhole ? 1_000 : 100));

const failed = (cause: "timeout" | "socket", written = true): Exchange => ({
  kind: "failed",
  cause,
  written,
  detail: "",
});

/** The counts, printed at the end of the run as tables of docs/evidence.md. */
const outages: string[] = [
  "| an hour in which the gateway | sends | lookups | sends of one order | lookups of one order |" +
    " alarms about orders | other alarms |",
  "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
];
const days: string[] = [
  "| one order whose answers are lost | day | sends | lookups | alarms | state |",
  "| --- | ---: | ---: | ---: | ---: | --- |",
];
afterAll(() => {
  for (const table of [outages, days]) {
    if (table.length > 2) process.stdout.write(`\n${table.join("\n")}\n`);
  }
});

const hours: Array<[string, Outage]> = [
  [
    "answers nothing and takes the orders",
    { answer: failed("timeout"), takesMs: 30_000, commits: true },
  ],
  [
    "breaks every connection and takes no order",
    { answer: failed("socket"), takesMs: 10, commits: false },
  ],
  ["answers HTTP 500 and takes every order", { answer: answered(500), takesMs: 50, commits: true }],
  [
    "cannot be reached, so that no try leaves us",
    { answer: failed("socket", false), takesMs: 10, commits: false },
  ],
];

test.each(hours)(
  "an hour in which the gateway %s leaves each of many orders there once",
  async (name, outage) => {
    const clock = new TestClock();
    const at = await openTroubled(clock, { outage, outageMs: HOUR, orders: ORDERS });
    at.watch();
    await clock.advance(2 * HOUR);
    expect(at.rig.store.counts()).toMatchObject({ sent: ORDERS, pending: 0, parked: 0 });
    const { sends, lookups, atGateway } = at.gateway;
    expect([atGateway.size, most(atGateway)]).toEqual([ORDERS, 1]);
    const { ofAllOrders, others } = at.alarms();
    const figures = [sum(sends), sum(lookups), most(sends), most(lookups), ofAllOrders];
    outages.push(`| ${[name, ...figures, others.join(", ")].join(" | ")} |`);
    // One that did not leave this machine is tried again until it can.
    if (outage.answer.kind === "failed" && !outage.answer.written) {
      expect([most(sends) > 2, sum(lookups)]).toEqual([true, 0]);
    } else {
      expect(most(sends)).toBeLessThanOrEqual(outage.commits ? 1 : 2);
      expect(most(lookups)).toBeLessThanOrEqual(8);
    }
    expect(ofAllOrders).toBe(0);
    expect(others).toEqual(["queue-old"]);
  },
  20 * MINUTE,
);

interface Days {
  readonly answer?: Exchange;
  readonly lookup: NonNullable<Outage["lookup"]>;
  /** Sends, lookups and alarms of the one order after each day. */
  readonly counts: ReadonlyArray<readonly [sends: number, lookups: number, alarms: number]>;
  readonly state: "sent" | "parked" | "pending";
  /** How many orders of it the gateway may have in the end; left out: that is known. */
  readonly possibleOrders?: number;
}

const ones: Array<[string, Days]> = [
  [
    "the lookup finds it",
    {
      lookup: (transactionId, orderId) => orderOf(orderId, { transactionId }),
      counts: [[1, 1, 0]],
      state: "sent",
    },
  ],
  [
    "the lookup finds another's order of this number",
    {
      lookup: (_, orderId) => orderOf(orderId, { transactionId: "another" }),
      counts: [[1, 1, 1]],
      state: "parked",
    },
  ],
  [
    "the lookup finds an order without our transaction id",
    { lookup: (_, orderId) => orderOf(orderId, null), counts: [[1, 1, 1]], state: "parked" },
  ],
  ["the lookup never finds it", { lookup: absent, counts: [[177, 352, 0]], state: "pending" }],
  [
    "the lookup never finds it, every answer is HTTP 500",
    {
      answer: answered(500),
      lookup: absent,
      counts: [
        [177, 352, 0],
        [178, 354, 1],
      ],
      state: "parked",
    },
  ],
  [
    "the lookup is HTTP 404 without a word about orders",
    {
      lookup: () => answered(404),
      counts: [
        [8, 15, 1],
        [9, 17, 2],
        [10, 19, 3],
      ],
      state: "pending",
      possibleOrders: 10,
    },
  ],
  [
    "the lookup refuses the credentials",
    { lookup: () => answered(401), counts: [[8, 15, 1]], state: "pending", possibleOrders: 8 },
  ],
  [
    "the lookup is HTTP 500",
    { lookup: () => answered(500), counts: [[7, 103, 1]], state: "pending", possibleOrders: 7 },
  ],
  [
    "the lookup is not answered in time",
    { lookup: () => failed("timeout"), counts: [[7, 103, 1]], state: "pending", possibleOrders: 7 },
  ],
  [
    "the lookup cannot be reached",
    { lookup: () => failed("socket", false), counts: [[1, 103, 0]], state: "pending" },
  ],
];

test.each(ones)("one order whose answers are lost, when %s", async (name, given) => {
  const clock = new TestClock();
  const { answer = failed("socket"), lookup, counts, state, possibleOrders = 0 } = given;
  const outage = { answer, takesMs: 10, commits: false, lookup };
  const at = await openTroubled(clock, { outage, outageMs: 10 * DAY, orders: 1 });
  const [item] = at.rig.admin.list(undefined, 0, 1).items;
  const stored = () => at.rig.store.delivery(item?.transactionId ?? "")?.state;
  const counted: number[][] = [];
  for (let day = 1; day <= counts.length; day++) {
    await clock.advance(DAY);
    const { ofOneOrder } = at.alarms();
    const figures = [most(at.gateway.sends), most(at.gateway.lookups), ofOneOrder];
    counted.push(figures);
    days.push(`| ${[name, day, ...figures, stored()].join(" | ")} |`);
  }
  expect(counted).toEqual(counts);
  expect(stored()).toBe(state);
  expect(at.rig.operationStore.possibleOrders(item?.transactionId ?? "")).toBe(possibleOrders);
  expect(at.rig.admin.uncertain().possibleCopies).toBe(possibleOrders > 0 ? 1 : 0);
  // Where nothing is open any more the clock alone changes nothing.
  if (state === "pending") return;
  await clock.advance(3 * DAY);
  expect(most(at.gateway.sends)).toBe(counts.at(-1)?.[0]);
});
