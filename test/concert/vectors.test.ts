import { describe, expect, test } from "vitest";
import {
  actionResult,
  ConcertCodecError,
  decodeFixedReply,
  decodeFixedRequest,
  decodeTagged,
  encodeFixedReply,
  encodeFixedRequest,
  encodeTagged,
  readTagged,
} from "../../src/concert/index.ts";
import { encodeFrame } from "../../src/tp-manager/terminal/concert/link/frame.ts";
import { decodeFrame } from "./frames.ts";
import { bytesHex, hasAny, hexBytes, rowsOf, type Vector } from "./vectors.ts";

/** A fixed body as the vectors describe it, and the same written again. */
function requestOf(body: Uint8Array) {
  const request = decodeFixedRequest(body);
  const { options, ...fields } = request;
  const { variant: _, ...given } = { delay: undefined, ...options };
  return { fields: { ...fields, ...given }, again: encodeFixedRequest(request) };
}

function replyOf(body: Uint8Array, { protocol, decoded }: Vector) {
  const ticket = protocol === "concert-e-ticket";
  const currency = String(decoded?.["currency"]);
  const report = decoded?.["report"] !== null;
  const reply = decodeFixedReply(body, { ticket, report, currency });
  const fields = { ...reply, accepted: reply.status === "0" };
  return { fields, again: encodeFixedReply(reply) };
}

function readFrame(vector: Vector) {
  const bytes = hexBytes(vector.hex);
  const body = decodeFrame(bytes);
  const toTerminal = vector.direction === "register-to-terminal";
  const { fields, again } = toTerminal ? requestOf(body) : replyOf(body, vector);
  return { fields: withDigits(fields, body, toTerminal), again: encodeFrame(again), bytes };
}

function withDigits(fields: object, body: Uint8Array, toTerminal: boolean): object {
  const at = toTerminal ? 2 : 3;
  const amountDigits = Buffer.from(body.subarray(at, at + 8)).toString("latin1");
  return { ...fields, amountDigits };
}

const kinds = ["frame", "invalid-frame", "message", "invalid-message"] as const;

describe.skipIf(!hasAny(...kinds))("published frames and messages (CONFORMANCE_VECTORS)", () => {
  test.each(rowsOf("frame"))("frame %s is read and written as it is", (_id, vector) => {
    const { fields, again, bytes } = readFrame(vector);
    const { lrc, ...decoded } = vector.decoded;
    expect(fields).toMatchObject(decoded);
    expect(bytesHex(bytes.subarray(-1))).toBe(lrc);
    expect(bytesHex(again)).toBe(vector.hex);
  });

  test.each(rowsOf("invalid-frame"))("frame %s is refused for its reason", (_id, vector) => {
    let code: string | undefined;
    try {
      readFrame(vector);
    } catch (error) {
      code = error instanceof ConcertCodecError ? error.code : String(error);
    }
    expect(code).toBe(vector.expect.reason);
  });

  test.each(rowsOf("message"))("message %s is read and written as it is", (_id, vector) => {
    const bytes = hexBytes(vector.hex);
    const tags = decodeTagged(bytes);
    expect(tags).toEqual(vector.decoded["tags"]);
    expect(actionResult(tags)).toBe(vector.decoded["result"]);
    expect(bytesHex(encodeTagged(tags))).toBe(vector.hex);
    for (let cut = 0; cut < bytes.length; cut++) {
      const { fault, tags: before } = readTagged(bytes.subarray(0, cut));
      expect(["incomplete", undefined]).toContain(fault?.code);
      expect(tags.slice(0, before.length)).toEqual(before);
    }
    if (vector.chunks) expect(vector.chunks.join("")).toBe(vector.hex);
  });

  test.each(rowsOf("invalid-message"))("message %s is refused for its reason", (_id, vector) => {
    const { tags, fault } = readTagged(hexBytes(vector.hex));
    expect(fault?.code).toBe(vector.expect.reason);
    const before = vector.expect.tagsBeforeError;
    if (before) expect(tags).toEqual(before);
  });
});
