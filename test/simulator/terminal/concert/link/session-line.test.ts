import { describe, expect, test } from "vitest";
import { type QuietLine, quietLine } from "../support/quiet-line.ts";
import { ACK, ENQ, EOT, frameOf, NAK } from "../support/register.ts";

const REQUEST = "0100001200110978          A010B010";
const REPLY = "010000012001978          ";
const STX = "\x02";

function opened(takes?: (body: Uint8Array) => boolean): QuietLine {
  const quiet = quietLine(true, takes);
  quiet.hears(ENQ);
  expect(quiet.said()).toBe(ACK);
  return quiet;
}

const bodies = ({ taken }: QuietLine): string[] =>
  taken.map((body) => Buffer.from(body).toString("latin1"));

describe("the register's session", () => {
  test("brings one request, and its end lets the terminal speak", async () => {
    const quiet = opened();
    quiet.hears(frameOf(REQUEST));
    expect(quiet.said()).toBe(ACK);
    const delivered = quiet.line.deliver(Buffer.from(REPLY));
    await quiet.clock.advance(0);
    expect(quiet.said()).toBe("");
    quiet.hears(EOT);
    expect(quiet.said()).toBe(ENQ);
    quiet.hears(ACK);
    expect(quiet.said()).toBe(frameOf(REPLY));
    quiet.hears(ACK);
    expect([await delivered, quiet.said()]).toEqual(["delivered", EOT]);
    expect(bodies(quiet)).toEqual([REQUEST]);
    expect(quiet.clock.running).toEqual([]);
  });

  test("ends three seconds after a request without EOT, then the terminal speaks", async () => {
    const quiet = opened();
    quiet.hears(frameOf(REQUEST));
    void quiet.line.deliver(Buffer.from(REPLY));
    await quiet.clock.advance(2_999);
    expect(quiet.said()).toBe(ACK);
    await quiet.clock.advance(1);
    expect(quiet.said()).toBe(ENQ);
  });

  test("takes a repeated frame once, and refuses another frame after it", () => {
    const quiet = opened();
    quiet.hears(frameOf(REQUEST));
    quiet.hears(frameOf(REQUEST));
    quiet.hears(frameOf(`02${REQUEST.slice(2)}`));
    quiet.hears(ENQ);
    expect(quiet.said()).toBe(`${ACK}${ACK}${NAK}${NAK}`);
    expect(bodies(quiet)).toEqual([REQUEST]);
  });

  test("goes on after NAK: the same frame is taken when it comes again", () => {
    const quiet = opened();
    const damaged = frameOf(REQUEST).replace("1200", "1300");
    for (const frame of [damaged, damaged, frameOf(REQUEST)]) quiet.hears(frame);
    expect(quiet.said()).toBe(`${NAK}${NAK}${ACK}`);
    expect(bodies(quiet)).toEqual([REQUEST]);
  });

  test.each([
    { what: "cut", bytes: frameOf(REQUEST).slice(0, 20) },
    { what: "never ended", bytes: `${STX}${REQUEST}` },
    { what: "without STX", bytes: frameOf(REQUEST).slice(1, -2) },
    { what: "with EOT in the place of ETX", bytes: `${STX}${REQUEST}${EOT}\x06` },
  ])("answers a frame that is $what with NAK after a silence", async ({ bytes }) => {
    const quiet = opened();
    quiet.hears(bytes);
    await quiet.clock.advance(999);
    expect(quiet.said()).toBe("");
    await quiet.clock.advance(1);
    expect(quiet.said()).toBe(NAK);
    quiet.hears(frameOf(REQUEST));
    expect(quiet.said()).toBe(ACK);
    expect(bodies(quiet)).toEqual([REQUEST]);
  });

  test("reads over noise in front of the frame", () => {
    const quiet = opened();
    quiet.hears(`\x00?${frameOf(REQUEST)}`);
    expect([quiet.said(), bodies(quiet)]).toEqual([ACK, [REQUEST]]);
  });

  test("is opened again by another ENQ", async () => {
    const quiet = opened();
    await quiet.clock.advance(2_000);
    quiet.hears(ENQ);
    await quiet.clock.advance(2_000);
    quiet.hears(frameOf(REQUEST));
    expect(quiet.said()).toBe(`${ACK}${ACK}`);
    expect(bodies(quiet)).toEqual([REQUEST]);
  });

  test("needs an ENQ: without it a frame is not taken", () => {
    const quiet = quietLine(true);
    quiet.hears(`${frameOf(REQUEST)}${ACK}${NAK}${EOT}`);
    expect([quiet.said(), bodies(quiet)]).toEqual(["", []]);
  });
});

describe("the terminal's session", () => {
  function calling(): QuietLine & { readonly delivered: Promise<string> } {
    const quiet = quietLine(true);
    const delivered = quiet.line.deliver(Buffer.from(REPLY));
    expect(quiet.said()).toBe(ENQ);
    return { ...quiet, delivered };
  }

  test("ends unheard after three seconds, or after NAK", async () => {
    const silent = calling();
    await silent.clock.advance(3_000);
    expect([await silent.delivered, silent.said()]).toEqual(["not-heard", EOT]);
    const refused = calling();
    refused.hears(NAK);
    expect([await refused.delivered, refused.said()]).toEqual(["not-heard", EOT]);
  });

  test("comes before that of a register which asks at the same time", async () => {
    const quiet = calling();
    quiet.hears(`${ENQ}${ACK}`);
    expect(quiet.said()).toBe(`${NAK}${frameOf(REPLY)}`);
    quiet.hears(`${ENQ}${ACK}`);
    expect([await quiet.delivered, quiet.said()]).toEqual(["delivered", `${NAK}${EOT}`]);
  });

  test("repeats the same frame after each of three NAK", async () => {
    const quiet = calling();
    quiet.hears(`${ACK}${NAK}${NAK}${NAK}${NAK}`);
    const frame = frameOf(REPLY);
    expect([await quiet.delivered, quiet.said()]).toEqual(["refused", `${frame.repeat(4)}${EOT}`]);
  });

  test("ends three seconds after a frame that got no ACK", async () => {
    const quiet = calling();
    quiet.hears(ACK);
    await quiet.clock.advance(3_000);
    expect([await quiet.delivered, quiet.said()]).toEqual([
      "not-acknowledged",
      frameOf(REPLY) + EOT,
    ]);
  });

  test("ends when the line closes", async () => {
    const quiet = calling();
    const second = quiet.line.deliver(Buffer.from(REPLY));
    quiet.port.close();
    expect(await Promise.all([quiet.delivered, second])).toEqual(["closed", "closed"]);
    expect(quiet.clock.running).toEqual([]);
    expect(await quiet.line.deliver(Buffer.from(REPLY))).toBe("closed");
  });

  test("sends its frame as one write", () => {
    const quiet = calling();
    quiet.hears(ACK);
    expect(quiet.port.written.map(({ length }) => length)).toEqual([REPLY.length + 3]);
  });
});
