import { describe, expect, test } from "vitest";
import { readTagged, tagValue } from "../../../../src/concert/index.ts";
import { BareLine } from "../../../../src/tp-manager/terminal/caisse-ap/bare-line.ts";
import { bytesHex, hasAny, hexBytes, rowsOf, type Vector } from "../../../concert/vectors.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { bareMessages } from "./bare-house.ts";
import { tagged } from "./bare-peer.ts";
import { LinePeer } from "./line-peer.ts";

/** A connection on which a request was sent. */
async function asked() {
  const clock = new TestClock();
  const peer = new LinePeer(clock);
  const [identification, ending] = [new Uint8Array(0), new Uint8Array(0)];
  const line = new BareLine(peer.transport, clock, identification, ending);
  const heard: string[] = [];
  line.start({
    reply: (bytes) => {
      heard.push(bytesHex(bytes));
      return true;
    },
    malformed: () => {},
    link: () => {},
    gone: () => heard.push("gone"),
  });
  await line.open(new AbortController().signal);
  const sent = line.send(hexBytes("00"));
  await clock.advance(100);
  expect(await sent).toBe("taken");
  return { clock, peer, heard };
}

const isReply = ({ direction, hex }: Vector): boolean =>
  direction === "terminal-to-register" &&
  tagValue(readTagged(hexBytes(hex)).tags, "AE") !== undefined;

describe.skipIf(!hasAny("message", "session"))("published messages (CONFORMANCE_VECTORS)", () => {
  const replies = rowsOf("message").filter(([, vector]) => isReply(vector));
  test.each(replies)("%s is one reply wherever it is cut", async (_id, { hex }) => {
    for (let at = 2; at <= hex.length; at += 2) {
      const { clock, peer, heard } = await asked();
      peer.say(hex.slice(0, at), 1);
      peer.say(hex.slice(at), 250);
      await clock.advance(10_000);
      expect(heard).toEqual([hex]);
    }
  });

  const sessions = rowsOf("session").filter(
    ([, { protocol, transport }]) => protocol === "caisse-ap" && transport === "tcp",
  );
  test.each(sessions)("session %s passes on what its terminal sends", async (_id, { steps }) => {
    const { clock, peer, heard } = await asked();
    const said = steps.filter(({ from }) => from === "terminal");
    for (const { name, hex = "" } of said) {
      if (name === "message") peer.say(hex);
      if (name === "close") peer.drop();
      await clock.advance(10_000);
    }
    const expected = said.map(({ name, hex }) => (name === "message" ? hex : "gone"));
    expect(heard).toEqual(expected);
  });
});

describe("a reply that comes in pieces", () => {
  test.each([
    ["amount and currency of an approval", { AE: "10" }, { CB: "998", CE: "978" }],
    ["the reason of a refusal", { AE: "01", CB: "998", CE: "978" }, { AF: "07" }],
  ])("is not over while %s may follow", async (_what, before, following) => {
    const { clock, peer, heard } = await asked();
    const [first, second] = [tagged({ CZ: "0300", ...before }), tagged(following)];
    peer.say(first, 1);
    peer.say(second, 1_000);
    await clock.advance(10_000);
    expect(heard).toEqual([first + second]);
  });
});

describe("a message that comes before the request was written", () => {
  const stale = tagged({ CZ: "0300", CD: "0", AE: "01", AF: "04", CB: "999", CE: "978" });
  const answer = tagged({ CZ: "0300", CD: "0", AE: "10", CB: "999", CE: "978" });
  const opened = async () => {
    const clock = new TestClock();
    const peer = new LinePeer(clock);
    const line = new BareLine(peer.transport, clock, new Uint8Array(0), new Uint8Array(0));
    const heard: [string, boolean][] = [];
    line.start({
      reply: (bytes, isEarly) => heard.push([bytesHex(bytes), isEarly]) > 0,
      malformed: () => {},
      link: () => {},
      gone: () => {},
    });
    await line.open(new AbortController().signal);
    return { clock, peer, line, heard };
  };
  const sent = async ({ clock, line }: Awaited<ReturnType<typeof opened>>): Promise<string> => {
    const sending = line.send(hexBytes("00"));
    await clock.advance(100);
    return await sending;
  };

  test.each([
    [1, true],
    [1, false],
    [200, false],
    [5_000, false],
  ])(
    "is not taken for its answer, which comes %i ms later (read before: %s)",
    async (pauseMs, isReadBefore) => {
      const at = await opened();
      const { clock, peer, heard } = at;
      peer.say(stale);
      if (isReadBefore) await clock.advance(2);
      expect(await sent(at)).toBe("taken");
      peer.say(answer, pauseMs);
      await clock.advance(10_000);
      expect(heard).toEqual([
        [stale, true],
        [answer, false],
      ]);
    },
  );

  test.each([2, 40, stale.length - 2])("is no answer if the rest (%i) follows", async (at) => {
    const started = await opened();
    const { clock, peer, heard } = started;
    peer.say(stale.slice(0, at));
    await sent(started);
    peer.say(stale.slice(at), 10);
    peer.say(answer, 4_000);
    await clock.advance(10_000);
    expect(heard).toEqual([
      [stale, true],
      [answer, false],
    ]);
  });

  test("is no answer when the connection ends amid it", async () => {
    const started = await opened();
    const { clock, peer, heard } = started;
    peer.say(stale.slice(0, 40));
    await sent(started);
    peer.drop(10);
    await clock.advance(10_000);
    expect(heard).toEqual([[stale.slice(0, 40), true]]);
  });

  test("stops the request when the connection closes after it", async () => {
    const started = await opened();
    const { peer, heard } = started;
    peer.say(stale);
    peer.drop(5);
    expect([await sent(started), peer.written, heard]).toEqual(["lapsed", [], [[stale, true]]]);
  });
});

describe("a reply that is cut by the end of its connection", () => {
  const refusal = tagged({ CZ: "0300", CD: "0", AE: "01" });
  const approval = tagged({ CZ: "0300", CD: "0", AE: "10", CB: "999", CE: "978", ZT: "abcd" });
  const begun = () => {
    const clock = new TestClock();
    const peer = new LinePeer(clock);
    const line = new BareLine(peer.transport, clock, new Uint8Array(1), new Uint8Array(0));
    const heard: string[] = [];
    line.start({
      reply: (bytes) => heard.push(bytesHex(bytes)) > 0,
      malformed: () => heard.push("malformed"),
      link: () => {},
      gone: () => heard.push("gone"),
    });
    return { clock, peer, line, heard, signal: new AbortController().signal };
  };

  test("is no refusal when we end it before the reason came", async () => {
    const { clock, peer, line, heard, signal } = begun();
    await line.open(signal);
    const sending = line.send(hexBytes("00"));
    await clock.advance(100);
    await sending;
    peer.say(refusal);
    await clock.advance(10);
    await line.close();
    expect(heard).toEqual(["malformed", "gone"]);
  });

  test("is passed on although nothing was sent on the connection", async () => {
    const { clock, peer, line, heard, signal } = begun();
    await line.open(signal);
    peer.say(approval.slice(0, -4));
    peer.drop(5);
    await clock.advance(10);
    expect(heard).toEqual([approval.slice(0, -4)]);
  });

  test("is passed on when it came instead of an answer to a question", async () => {
    const { clock, peer, line, heard, signal } = begun();
    const asked = line.ping(signal);
    peer.say(approval.slice(0, -4));
    peer.drop(5);
    await clock.advance(10);
    expect([(await asked).opened, heard]).toEqual([false, [approval.slice(0, -4)]]);
  });
});

describe("the reading of a reply", () => {
  test("shows no ticket, whose letters may hide a card number", () => {
    const ticket = Buffer.from("4111111111111111").toString("base64");
    const reply = Buffer.from(tagged({ AE: "10", ZT: ticket }).slice(0, -2), "hex");
    const reading = bareMessages.read(reply, null);
    expect(reading).toMatchObject({
      reading: "unreadable",
      why: expect.stringContaining("AE00210"),
    });
    expect(JSON.stringify(reading)).not.toContain(ticket.slice(0, 8));
  });

  test("has no amount when the terminal reported none, whatever was asked", () => {
    const reply = Buffer.from(tagged({ CD: "0", AE: "10", CE: "978" }), "hex");
    const order = { amountMinor: 999, currencyNumeric: "978", currencyAlpha: "EUR" };
    expect(bareMessages.read(reply, order)).toMatchObject({ report: { amountMinor: null } });
  });
});
