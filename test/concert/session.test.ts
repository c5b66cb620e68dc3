import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeFixedReply } from "../../src/concert/index.ts";
import { encodeFrame } from "../../src/tp-manager/terminal/concert/link/frame.ts";
import {
  advanceSession,
  idleSession,
  type SessionInput,
  type SessionNews,
} from "../../src/tp-manager/terminal/concert/link/session-machine.ts";
import { tries } from "../support/run/scope.ts";
import { bytesHex, hasAny, hexBytes, rowsOf, type Vector } from "./vectors.ts";

const [ENQ, ACK, NAK, EOT, STX] = ["05", "06", "15", "04", "02"] as const;

/** ENQ is tried and a frame is sent at most three times in one session (docs/concert.md 2.5). */
const ENQ_TRIES = 3;
const FRAME_SENDS = 3;

/** A register's side of a line, step by step, with what it wrote and which news it reported. */
class Side {
  state = idleSession;
  written: string[] = [];
  news: SessionNews[] = [];
  timer: ReturnType<typeof advanceSession>["timer"] = null;
  isStoring = true;

  do(input: SessionInput): void {
    const step = advanceSession(this.state, input);
    this.state = step.state;
    if (step.write.length > 0) this.written.push(bytesHex(Uint8Array.from(step.write)));
    if (step.frame) this.written.push(bytesHex(step.frame));
    if (step.timer !== undefined) this.timer = step.timer;
    this.news.push(...step.news);
    if (step.news.some(({ news }) => news === "body")) {
      this.do({ input: "judged", stored: this.isStoring });
    }
  }

  hear(hex: string): void {
    for (const byte of hexBytes(hex)) this.do({ input: "byte", byte });
  }

  heard(): string[] {
    return this.news.splice(0).map(({ news }) => news);
  }

  wrote(): string[] {
    return this.written.splice(0);
  }

  /** A frame is on its way to the terminal. */
  static sending(): Side {
    const side = new Side();
    side.do({ input: "ask" });
    side.hear(ACK);
    side.do({ input: "send", frame });
    side.wrote();
    side.heard();
    return side;
  }
}

const frame = encodeFrame(Buffer.from("0100001250110978          A010B010"));
const frameHex = bytesHex(frame);
const replyHex = bytesHex(encodeFrame(Buffer.from("010000012501978          ")));
const damagedHex = `${replyHex.slice(0, -2)}7f`;

describe.skipIf(!hasAny("session"))(
  "as the register of published sessions (CONFORMANCE_VECTORS)",
  () => {
    const serial = rowsOf("session").filter(([, { transport }]) => transport === "serial");
    test.each(serial)("%s runs as published", (_id, vector) => {
      const side = new Side();
      const isProbe = !vector.steps.some(({ name }) => name === "frame");
      for (const [at, { from, name, hex = "" }] of vector.steps.entries()) {
        if (from === "terminal") {
          side.hear(hex);
          continue;
        }
        const isOwn = vector.steps.slice(0, at).every((step) => step.name !== "EOT");
        if (name === "ENQ") side.do({ input: "ask" });
        if (name === "frame") side.do({ input: "send", frame: hexBytes(hex) });
        if (name === "EOT" && isProbe && isOwn) side.do({ input: "leave" });
        // Our session asks for a malformed reply again, where the register of the vector gave up.
        if (side.written[0] === NAK && hex !== NAK) side.written.shift();
        expect(side.written.shift()).toBe(hex);
      }
      expect(side.news.filter(({ news }) => news === "body")).toHaveLength(acceptedOf(vector));
    });
  },
);

/** Replies of the terminal whose check byte is right. */
function acceptedOf({ steps }: Vector): number {
  const side = new Side();
  for (const { from, name, hex = "" } of steps) {
    if (from === "terminal" && name === "frame") side.hear(hex);
  }
  return side.news.filter(({ news }) => news === "body").length;
}

describe("our session", () => {
  test("asks three times, with EOT and a pause between, then reports that it did not open", () => {
    const side = new Side();
    side.do({ input: "ask" });
    for (let time = 1; time < 2 * ENQ_TRIES; time++) side.do({ input: "timer" });
    expect(side.wrote()).toEqual([ENQ, EOT, ENQ, EOT, ENQ, EOT]);
    expect(side.news).toEqual([{ news: "not-opened", why: "silent", sawParity: false }]);
    expect(side.state).toEqual(idleSession);
  });

  test("reads a NAK to ENQ as busy", () => {
    const side = new Side();
    side.do({ input: "ask" });
    side.hear(NAK);
    expect([side.wrote(), side.timer]).toEqual([[ENQ, EOT], "pauseMs"]);
    side.do({ input: "timer" });
    side.hear(ACK);
    expect([side.wrote(), side.heard()]).toEqual([[ENQ], ["opened"]]);
  });

  test("repeats a frame only after NAK, unchanged, at most twice", () => {
    const side = Side.sending();
    for (let sends = 1; sends < FRAME_SENDS; sends++) {
      side.hear(NAK);
      expect(side.wrote()).toEqual([frameHex]);
    }
    side.hear(NAK);
    // One NAK may have been noise: the answer to the last frame is waited for as any other.
    expect([side.wrote(), side.timer, side.heard()]).toEqual([[EOT], "answerMs", []]);
    side.do({ input: "timer" });
    expect([side.wrote(), side.heard(), side.state]).toEqual([[], ["refused"], idleSession]);
  });

  test.each([
    ["an ACK leaves it open whether the terminal has the frame", ACK, ["unanswered"]],
    ["noise leaves the frame refused", `41${EOT}${NAK}`, []],
    ["a session of the terminal leaves it open", ENQ + replyHex + EOT, ["unanswered", "body"]],
    ["a reply without ENQ leaves it open", replyHex + EOT, ["unanswered", "body"]],
  ])("reports after the last NAK to its frame: %s", (_, hex, reported) => {
    const side = Side.sending();
    side.hear(NAK.repeat(FRAME_SENDS) + hex);
    expect(side.heard()).toEqual(reported);
    side.do({ input: "timer" });
    expect(side.heard()).toEqual(reported.length === 0 ? ["refused"] : []);
  });

  test("reports the frame as unanswered when the line is lost after the last NAK", () => {
    const side = Side.sending();
    side.hear(NAK.repeat(FRAME_SENDS));
    side.do({ input: "lost" });
    expect(side.heard()).toEqual(["unanswered"]);
  });

  test("sends nothing but EOT after a silence, and still receives the result", () => {
    const side = Side.sending();
    side.do({ input: "timer" });
    expect([side.wrote(), side.heard()]).toEqual([[EOT], ["unanswered"]]);
    side.hear(ENQ + replyHex + EOT);
    expect([side.wrote(), side.news]).toMatchObject([
      [ACK, ACK],
      [{ news: "body", isEarly: false }],
    ]);
  });

  test("lapses when no frame is sent in it", () => {
    const side = new Side();
    side.do({ input: "ask" });
    side.hear(ACK);
    side.do({ input: "timer" });
    side.do({ input: "send", frame });
    expect([side.wrote(), side.heard()]).toEqual([
      [ENQ, EOT],
      ["opened", "lapsed", "lapsed"],
    ]);
  });

  test("recognises another parity setting of the terminal", () => {
    const side = new Side();
    side.do({ input: "ask" });
    side.hear("95");
    for (let time = 1; time < 2 * ENQ_TRIES; time++) side.do({ input: "timer" });
    expect(side.news.at(-1)).toMatchObject({ news: "not-opened" });
    side.hear("0582");
    expect(side.news.at(-1)).toMatchObject({ news: "malformed", fault: "parity" });
  });
});

describe("the terminal's session", () => {
  test("is served first where its ENQ comes instead of the ACK to our ENQ", () => {
    const side = new Side();
    side.do({ input: "ask" });
    side.hear(ENQ + replyHex + EOT);
    expect(side.wrote()).toEqual([ENQ, ACK, ACK, ENQ]);
    expect(side.news).toMatchObject([{ news: "body", isEarly: true }]);
    side.hear(ACK);
    expect(side.heard()).toEqual(["body", "opened"]);
  });

  test("brings an earlier result where it comes instead of the ACK to our frame", () => {
    const side = Side.sending();
    side.hear(ENQ + replyHex + EOT);
    expect(side.wrote()).toEqual([ACK, ACK]);
    expect(side.news).toMatchObject([{ news: "unanswered" }, { news: "body", isEarly: true }]);
  });

  test("is asked to repeat a malformed reply, three times at most", () => {
    const side = new Side();
    side.hear(ENQ + damagedHex + damagedHex + damagedHex + damagedHex + EOT);
    expect(side.wrote()).toEqual([ACK, NAK, NAK, NAK]);
    expect(side.heard()).toEqual(["malformed", "malformed", "malformed", "malformed"]);
    side.hear(ENQ + damagedHex + replyHex + EOT);
    expect(side.wrote()).toEqual([ACK, NAK, ACK]);
  });

  test("is answered with NAK for a reply that could not be stored", () => {
    const side = new Side();
    side.isStoring = false;
    side.hear(ENQ + replyHex);
    side.isStoring = true;
    side.hear(replyHex);
    expect(side.wrote()).toEqual([ACK, NAK, ACK]);
    expect(side.heard()).toEqual(["body", "body"]);
  });

  test("needs neither ENQ before a reply nor EOT after it", () => {
    const side = new Side();
    side.hear(replyHex);
    side.do({ input: "timer" });
    side.hear(ENQ + replyHex + ENQ + replyHex);
    expect(side.wrote()).toEqual([ACK, ACK, ACK, ACK, ACK]);
  });

  test.each([ENQ, ACK, NAK, EOT, STX])(
    "reads the check byte %s of a malformed reply as no control byte of its own",
    (checkByte) => {
      const side = new Side();
      side.hear(`${ENQ}${STX}3031013903${checkByte}`);
      expect([side.wrote(), side.timer]).toEqual([[ACK], "quietMs"]);
      side.do({ input: "timer" });
      expect(side.wrote()).toEqual([NAK]);
      side.hear(replyHex + EOT);
      expect([side.wrote(), side.heard()]).toEqual([[ACK], ["malformed", "body"]]);
    },
  );

  test("begins again, or ends, where a reply breaks off", () => {
    const side = new Side();
    side.hear(`${ENQ}${STX}3031${ENQ}`);
    side.do({ input: "timer" });
    expect(side.wrote()).toEqual([ACK, ACK]);
    side.hear(`${replyHex + EOT + ENQ + STX}3031${EOT}`);
    side.do({ input: "timer" });
    expect([side.wrote(), side.state]).toEqual([[ACK, ACK], idleSession]);
  });

  test("gets NAK for a cut frame after a silence, for a malformed one on a quiet line", () => {
    const side = new Side();
    side.hear(ENQ + replyHex.slice(0, 20));
    side.do({ input: "timer" });
    expect(side.wrote()).toEqual([ACK, NAK]);
    side.hear(`${STX}3031${ACK}3133`);
    expect([side.wrote(), side.timer]).toEqual([[], "quietMs"]);
    side.do({ input: "timer" });
    expect([side.wrote(), side.heard()]).toEqual([[NAK], ["malformed", "malformed"]]);
  });
});

const input: fc.Arbitrary<SessionInput> = fc.oneof(
  fc
    .oneof(
      { weight: 6, arbitrary: fc.constantFrom(2, 3, 4, 5, 6, 0x15, 0x82, 0x84, 0x95) },
      { weight: 1, arbitrary: fc.nat(255) },
    )
    .map((byte) => ({ input: "byte" as const, byte })),
  fc.constantFrom<SessionInput>(
    { input: "timer" },
    { input: "ask" },
    { input: "send", frame },
    { input: "leave" },
  ),
);

describe("whatever comes", () => {
  test("a frame is sent once for each request to send it, and again only after NAK", () => {
    const law = (inputs: readonly SessionInput[]) => {
      const side = new Side();
      let [asked, naks] = [0, 0];
      for (const one of inputs) {
        if (one.input === "send") asked += 1;
        if (one.input === "byte" && one.byte === 0x15) naks += 1;
        side.do(one);
      }
      const sent = side.written.filter((hex) => hex === frameHex).length;
      expect(sent).toBeLessThanOrEqual(asked + naks);
      const [taken, refused] = ["taken", "refused"].map((wanted) =>
        side.news.filter(({ news }) => news === wanted),
      );
      expect((taken?.length ?? 0) + (refused?.length ?? 0)).toBeLessThanOrEqual(asked);
    };
    fc.assert(fc.property(fc.array(input, { maxLength: 200 }), law), {
      numRuns: tries(2_000),
      seed: 1,
    });
  });

  test("a terminal that repeats its session is received in the end", () => {
    const law = (noise: readonly SessionInput[]) => {
      const side = new Side();
      for (const one of noise) side.do(one);
      side.news = [];
      // The line falls quiet, and the terminal tries as often as it may.
      for (let tries = 0; tries < 3; tries++) {
        for (let time = 0; time < 8; time++) side.do({ input: "timer" });
        side.hear(ENQ + replyHex + EOT);
      }
      const bodies = side.news.flatMap((one) => (one.news === "body" ? [one.body] : []));
      expect(bodies.map((body) => decodeFixedReply(body).status)).toContain("0");
    };
    fc.assert(fc.property(fc.array(input, { maxLength: 60 }), law), {
      numRuns: tries(1_000),
      seed: 1,
    });
  });
});
