import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type ApduLink,
  TcpLink,
} from "../../../../../src/tp-manager/terminal/zvt/link/apdu-link.ts";
import { decodeApdu, encodeApdu, fromHex, toHex } from "../../../../../src/zvt/index.ts";
import { TestClock } from "../../../../support/clocks/test-clock.ts";
import { MemoryTransport } from "./memory-transport.ts";

let clock: TestClock;
let line: MemoryTransport;
let link: ApduLink;
let events: string[];
let outcomes: string[];

beforeEach(async () => {
  clock = new TestClock();
  line = new MemoryTransport("tcp");
  events = [];
  outcomes = [];
  link = new TcpLink(
    { transport: line, clock, timers: { t1Ms: 200, t2Ms: 5_000, t3Ms: 5_000, t4Ms: 180_000 } },
    {
      apdu: (apdu) => events.push(toHex(encodeApdu(apdu))),
      malformed: () => events.push("malformed"),
      noise: (bytes) => events.push(`noise ${bytes}`),
      down: (problem) => events.push(`down ${problem}`),
    },
  );
  await link.open(new AbortController().signal);
});

afterEach(async () => {
  await link.close();
  expect(clock.running).toEqual([]);
});

test("APDUs go out bare and are delivered when the network has them", () => {
  link.send(decodeApdu(fromHex("060100")), ({ outcome }) => outcomes.push(outcome));
  expect(line.take()).toEqual(["060100"]);
  expect(outcomes).toEqual(["delivered"]);
});

test("pieces are put together, equal messages are two messages", async () => {
  line.arrive("06d1");
  await clock.advance(4_999);
  line.arrive("0140");
  line.arrive("06d10140".slice(0, 6));
  line.arrive("40");
  expect(events).toEqual(["06d10140", "06d10140"]);
});

test("a message that stops in the middle for T3 ends the connection", async () => {
  line.arrive("040f30");
  await clock.advance(4_999);
  expect(events).toEqual([]);
  await clock.advance(1);
  expect(events).toEqual(["down a message stopped in the middle"]);
});

test("bytes of another protocol end the connection with a hint", () => {
  line.arrive("800000150369");
  expect(events).toEqual(["800000", "noise 3", expect.stringContaining("not ZVT")]);
});

test("on a closed connection nothing leaves", async () => {
  line.end();
  expect(events).toEqual(["down memory broke"]);
  link.send(decodeApdu(fromHex("060100")), ({ outcome }) => outcomes.push(outcome));
  expect(outcomes).toEqual(["not-begun"]);
  expect(line.take()).toEqual([]);
  await clock.advance(0);
});
