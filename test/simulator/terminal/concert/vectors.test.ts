import { describe, expect, test } from "vitest";
import {
  actionResult,
  ConcertCodecError,
  decodeFixedReply,
  decodeFixedRequest,
  readTagged,
  type Tagged,
  tagValue,
} from "../../../../src/concert/index.ts";
import { ByteReader } from "../../../../src/simulator/terminal/concert/link/byte-reader.ts";
import { saysAll } from "../../../../src/simulator/terminal/concert/machine/tagged-dialogue.ts";
import type { ConcertOptions } from "../../../../src/simulator/terminal/concert/options.ts";
import { hasAny, hexBytes, rowsOf, type Vector } from "../../../concert/vectors.ts";
import { asSlow } from "../../../support/clocks/patience.ts";
import { type QuietLine, quietLine } from "./support/quiet-line.ts";
import { ACK, ENQ, frameOf, NAK } from "./support/register.ts";
import { bank, started } from "./support/started.ts";

type Variant = ConcertOptions["behaviour"]["variant"];

const latin = (hex: string): string => Buffer.from(hexBytes(hex)).toString("latin1");
const toTerminal = ([, { direction }]: readonly [string, Vector]): boolean =>
  direction === "register-to-terminal";
/** Layouts are the codec's business, frames are the line's. */
const isRequest = (body: Uint8Array): boolean => {
  try {
    return decodeFixedRequest(body) !== undefined;
  } catch (error) {
    if (error instanceof ConcertCodecError) return false;
    throw error;
  }
};

describe.skipIf(!hasAny("frame", "message"))(
  "every split of published bytes (CONFORMANCE_VECTORS)",
  () => {
    test.each(rowsOf("frame"))("frame %s is one frame wherever it is cut", (_id, { hex }) => {
      const bytes = hexBytes(hex);
      const whole = [{ kind: "frame", body: bytes.slice(1, -2) }];
      for (let at = 0; at <= bytes.length; at++) {
        const reader = new ByteReader();
        expect([...reader.push(bytes.slice(0, at)), ...reader.push(bytes.slice(at))]).toEqual(
          whole,
        );
        expect(reader.isInside).toBe(false);
      }
    });

    test.each(rowsOf("message").filter(toTerminal))(
      "message %s is one message wherever it is cut",
      async (_id, { hex }) => {
        const text = latin(hex);
        for (let at = 0; at <= text.length; at++) {
          const quiet = quietLine(false);
          quiet.hears(text.slice(0, at));
          await quiet.clock.advance(90);
          quiet.hears(`${text.slice(at)}\r\n`);
          await quiet.clock.advance(3_000);
          expect(quiet.taken.map((body) => Buffer.from(body).toString("latin1"))).toEqual([text]);
        }
      },
    );
  },
);

const requests = ["frame", "invalid-frame", "invalid-message"] as const;

describe.skipIf(!hasAny(...requests))("published requests (CONFORMANCE_VECTORS)", () => {
  test.each(rowsOf("frame").filter(toTerminal))("%s gets its ACK", (_id, { hex }) => {
    const quiet = quietLine(true, isRequest);
    quiet.hears(`${ENQ}${latin(hex)}`);
    expect([quiet.said(), quiet.taken.length]).toEqual([`${ACK}${ACK}`, 1]);
  });

  test.each(rowsOf("invalid-frame").filter(toTerminal))("%s gets NAK", async (_id, vector) => {
    const quiet = quietLine(true, isRequest);
    quiet.hears(`${ENQ}${latin(vector.hex)}`);
    await quiet.clock.advance(2_000);
    expect([quiet.said(), quiet.taken.length]).toEqual([`${ACK}${NAK}`, 0]);
  });

  test.each(rowsOf("invalid-message"))(
    "%s begins nothing",
    async (_id, { hex, expect: expected }) => {
      const { register, simulator } = await started(
        { transport: "tcp", family: "caisse-ap", sessions: false },
        { behaviour: { outcome: "approve" } },
      );
      register.say(latin(hex));
      const exchange = (await register.rest(asSlow(hex === "" ? 50 : 500))).join("");
      if (hex !== "") expect(`${expected.reason} ${exchange}`).toContain("AE00201AF00209");
      expect(bank(simulator)).toEqual([]);
    },
  );
});

/** The terminal of a session, as its steps show it: what it does otherwise, and what it decides. */
interface Played {
  readonly faults: readonly string[];
  readonly declines: boolean;
}

type Step = Vector["steps"][number];
const fromTerminal = ({ from }: Step): boolean => from === "terminal";
const bodyOf = ({ hex = "" }: Step): Uint8Array => hexBytes(hex).slice(1, -2);

/** A frame whose check byte is wrong. */
const isDamaged = (step: Step): boolean =>
  latin(step.hex ?? "") !== frameOf(Buffer.from(bodyOf(step)).toString("latin1"));

function playedSerially({ steps }: Vector): Played {
  const names = steps.filter(fromTerminal).map(({ name }) => name);
  const reply = steps.find((step) => fromTerminal(step) && step.name === "frame");
  const request = steps.find((step) => !fromTerminal(step) && step.name === "frame");
  const faults = [
    ...(names.length === 0 ? ["silent-enq"] : []),
    ...(names[0] === "NAK" ? ["nak-enq"] : []),
    ...(names[1] === "NAK" && request && !isDamaged(request) ? ["nak-frame"] : []),
    ...(names.length === 2 && names[1] === "ACK" ? ["no-reply"] : []),
    ...(reply && isDamaged(reply) ? ["bad-check"] : []),
    ...(reply && !names.includes("EOT") ? ["no-eot"] : []),
  ];
  return { faults, declines: reply !== undefined && isRefusal(reply) };
}

function isRefusal(step: Step): boolean {
  const state = actionResult(readTagged(bodyOf(step)).tags);
  return statusOf(step) === "7" || state === "not-performed";
}

function statusOf(step: Step): string {
  return String.fromCharCode(bodyOf(step)[2] ?? 0);
}

/** The line of a published terminal: replies come from the vector, the rest it does by itself. */
function lineOf({ steps, protocol }: Vector) {
  const isBare = steps.every(({ name }) => name === "message" || name === "close");
  // A malformed request gets its NAK before the terminal is asked.
  const isOf = (step: Step, name: Step["name"]): boolean =>
    step.name === name && !fromTerminal(step) && (name === "ENQ" || !isDamaged(step));
  const following = (name: Step["name"]): (Step | undefined)[] =>
    steps.flatMap((step, at) => (isOf(step, name) ? [steps[at + 1]] : []));
  const [enquiries, requests] = [following("ENQ"), following("frame")];
  const replies = steps.filter((step) => fromTerminal(step) && step.name === "frame");
  const takes = (body: Uint8Array): boolean =>
    requests.shift()?.name !== "NAK" && (protocol === "caisse-ap" || isRequest(body));
  let answer: Step | undefined;
  const strikes = (name: string): boolean => {
    switch (name) {
      case "silent-enq":
        answer = enquiries.shift();
        return !answer || !fromTerminal(answer);
      case "nak-enq":
        return answer?.name === "NAK";
      case "no-ack":
        return steps.at(-1)?.name === "frame" && !fromTerminal(steps.at(-1) as Step);
      case "no-eot":
        return !steps.some((step) => fromTerminal(step) && step.name === "EOT");
      case "bad-check": {
        const reply = replies.shift();
        return reply !== undefined && isDamaged(reply);
      }
      default:
        return false;
    }
  };
  return quietLine(!isBare, takes, strikes);
}

/** What the line says next, as far as it says anything within a terminal's patience. */
async function nextOf({ clock, said }: QuietLine, before: string): Promise<string> {
  let heard = before;
  for (let tries = 0; heard === "" && tries < 40; tries++) {
    heard += said();
    if (heard === "") await clock.advance(100);
  }
  return heard;
}

describe.skipIf(!hasAny("session"))("the line of published terminals (CONFORMANCE_VECTORS)", () => {
  test.each(rowsOf("session"))("%s runs as published, byte for byte", async (_id, vector) => {
    const quiet = lineOf(vector);
    const { steps } = vector;
    let heard = "";
    for (const [at, step] of steps.entries()) {
      const { name, hex = "" } = step;
      if (name === "close") {
        if (fromTerminal(step)) quiet.line.finish();
        else quiet.port.close();
        await quiet.clock.advance(1);
        expect(quiet.port.isOpen).toBe(false);
        continue;
      }
      if (!fromTerminal(step)) {
        quiet.hears(latin(hex));
        // The silence after a message ends it; a session goes on at once.
        await quiet.clock.advance(name === "message" ? 150 : 1);
        continue;
      }
      const frame = steps.slice(at).find((one) => fromTerminal(one) && one.name === "frame");
      if (name === "ENQ" && frame) void quiet.line.deliver(bodyOf(frame));
      if (name === "message") void quiet.line.deliver(hexBytes(hex));
      heard = await nextOf(quiet, heard);
      expect(heard.slice(0, hex.length / 2)).toBe(latin(hex));
      heard = heard.slice(hex.length / 2);
    }
    expect(heard + quiet.said()).toBe("");
    const asked = steps.filter((step) => !fromTerminal(step) && isBody(step) && isWhole(step));
    const refused = steps.some((step, at) => step.name === "NAK" && asked.includes(before(at)));
    expect(quiet.taken).toEqual(refused ? [] : asked.map((step) => requestIn(step)));

    function before(at: number): Step {
      return steps[at - 1] as Step;
    }
  });
});

/** A bare message that says too little is answered by the line itself. */
const isWhole = ({ name, hex = "" }: Step): boolean =>
  name !== "message" || saysAll(new Map(readTagged(hexBytes(hex)).tags));
const isBody = ({ name }: Step): boolean => name === "frame" || name === "message";
const requestIn = (step: Step): Uint8Array =>
  step.name === "frame" ? bodyOf(step) : hexBytes(step.hex ?? "");

describe.skipIf(!hasAny("session"))(
  "published sessions, the terminal's side (CONFORMANCE_VECTORS)",
  () => {
    const sessions = rowsOf("session");
    const inSessions = ({ steps }: Vector): boolean => steps.some(({ name }) => name === "ENQ");
    const serial = sessions.filter(([, vector]) => inSessions(vector));
    const tagged = sessions.filter(([, vector]) => !inSessions(vector));

    test.each(serial)("%s", async (_id, vector) => {
      const { faults, declines } = playedSerially(vector);
      const isTagged = vector.protocol === "caisse-ap";
      const variant = isTagged ? "e-plus" : (vector.protocol.replace("concert-", "") as Variant);
      const request = vector.steps.find((step) => !fromTerminal(step) && step.name === "frame");
      const { register } = await started(
        {
          transport: vector.transport === "tcp" ? "tcp" : "pty",
          family: isTagged ? "caisse-ap" : "concert",
          sessions: true,
        },
        {
          faults,
          behaviour: {
            variant,
            outcome: declines ? { decline: 5 } : "approve",
          },
        },
      );
      register.polite = false;
      for (const step of vector.steps) {
        if (!fromTerminal(step)) {
          register.say(latin(step.hex ?? ""));
          continue;
        }
        const heard = await register.next(asSlow(1_000));
        if (step.name === "frame" && isTagged && request) {
          const [published, asked] = [step, request].map((each) => readTagged(bodyOf(each)).tags);
          expectSameAnswer((heard ?? "").slice(1), published ?? [], asked ?? []);
        } else if (step.name === "frame" && request) expectSameReply(heard ?? "", step, request);
        else expect(heard).toBe(step.name.toLowerCase());
      }
    });

    test.each(tagged)("%s", async (_id, { steps }) => {
      const answers = steps.filter((step) => fromTerminal(step) && step.name === "message");
      const tagsOf = ({ hex = "" }: Step) => readTagged(hexBytes(hex)).tags;
      const results = answers.map((step) => actionResult(tagsOf(step)));
      const request = steps.find(({ from, name }) => from === "register" && name === "message");
      const atOnce = tagsOf(request as Step).some(([tag, value]) => tag === "BA" && value === "1");
      const refusals = answers.filter((step) => actionResult(tagsOf(step)) === "not-performed");
      const reason = refusals.flatMap(tagsOf).find(([tag]) => tag === "AF")?.[1];
      const faults = [
        ...(results.length === 0
          ? [steps.some(fromTerminal) ? "close:when=before" : "no-reply"]
          : []),
        ...(results[0] === "taken-into-account" && !atOnce
          ? [results.length > 1 ? "taken-first" : "taken-only"]
          : []),
        ...(reason === undefined ? [] : [`not-done:af=${reason}`]),
      ];
      const { register } = await started(
        { transport: "tcp", family: "caisse-ap", sessions: false },
        { faults, behaviour: { outcome: "approve" } },
      );
      register.say(latin(request?.hex ?? ""));
      const text = (await register.rest(asSlow(1_000)))
        .filter((heard) => heard !== "closed")
        .join("");
      const ours = text === "" ? [] : text.split(/(?<=.)(?=CZ004)/);
      expect(ours).toHaveLength(answers.length);
      const asked = request ? tagsOf(request) : [];
      for (const [i, one] of ours.entries()) {
        expectSameAnswer(one, tagsOf(answers[i] as Step), asked);
      }
    });

    /** The terminal's own texts differ; what it returns of the request does not. */
    function expectSameReply(heard: string, step: Step, request: Step): void {
      if (heard === "bad") {
        expect(isDamaged(step)).toBe(true);
        return;
      }
      const asked = decodeFixedRequest(bodyOf(request));
      const { currency } = asked;
      const report = asked.answerFlag !== "0";
      const form = { ticket: asked.options.variant === "e-ticket", report, currency };
      const ours = decodeFixedReply(Buffer.from(heard.slice(1), "latin1"), form);
      const theirs = decodeFixedReply(bodyOf(step), form);
      if ((theirs.report !== null) === report) expect(ours.report !== null).toBe(report);
      for (const member of ["posNumber", "amountMinor", "paymentMode", "currency"] as const) {
        if (theirs[member] === asked[member]) expect(ours[member]).toBe(asked[member]);
      }
      // The vector's terminal reports a result at once, where ours first takes the request.
      const isResult = ours.status !== "9" && ["0", "7"].includes(theirs.status);
      if (isResult && currency === "978") expect(ours.status).toBe(theirs.status);
    }

    function expectSameAnswer(
      heard: string,
      published: readonly Tagged[],
      asked: readonly Tagged[],
    ) {
      const ours = readTagged(Buffer.from(heard, "latin1")).tags;
      for (const tag of ["CA", "CB", "CD", "CE"]) {
        const [own, other, given] = [ours, published, asked].map((tags) => tagValue(tags, tag));
        if (own !== undefined && other === given) expect(`${tag} ${own}`).toBe(`${tag} ${given}`);
      }
      const [state, reason] = ["AE", "AF"].map((tag) => tagValue(published, tag));
      // Ours answers BA 1 at once, and gives back only what it has sold.
      const isDebit = tagValue(asked, "CD") === "0" && tagValue(asked, "BA") !== "1";
      if (isDebit && state !== undefined) expect(tagValue(ours, "AE")).toBe(state);
      if (isDebit && state === "01" && reason) expect(tagValue(ours, "AF")).toBe(reason);
      expect(ours.map(([tag]) => tag)).toEqual(expect.arrayContaining(["CZ", "CJ", "AE"]));
    }
  },
);
