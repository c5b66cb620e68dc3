import { describe, expect, test } from "vitest";
import { MessageIds } from "../../../../../src/tp-manager/terminal/zvt/session/message-ids.ts";
import {
  type Apdu,
  decodeApdu,
  decodeMessage,
  encodeApdu,
  fromHex,
  type Message,
  toHex,
} from "../../../../../src/zvt/index.ts";

function apdu(hex: string): Apdu {
  return decodeApdu(fromHex(hex.replaceAll(" ", "")));
}

function message(hex: string): Message {
  return decodeMessage(apdu(hex));
}

function hex(encoded: Apdu): string {
  return toHex(encodeApdu(encoded));
}

const asking = apdu("0600 0e 000000 be 0978 06 06 1f7303000000");
const echoed = message("060f 08 06 06 1f7303000000");

function agreed(): MessageIds {
  const ids = new MessageIds();
  ids.numbered(asking);
  ids.registered(echoed);
  return ids;
}

describe("message sequence ids (docs/zvt.md 9.4)", () => {
  test("are counted from 000001, and follow the tags that the container already holds", () => {
    const ids = agreed();
    expect(hex(ids.numbered(apdu("0670 05 06 03 1b0102")))).toBe("06700b06091b01021f7303000001");
    expect(hex(ids.numbered(apdu("0602 00")))).toBe("06020806061f7303000002");
  });

  test("are one sequence for both sides, which starts again after 999999", () => {
    const ids = agreed();
    ids.heard("000011", "a");
    expect(hex(ids.numbered(apdu("0501 00")))).toBe("05010806061f7303000012");
    ids.heard("999999", "b");
    expect(hex(ids.numbered(apdu("0501 00")))).toBe("05010806061f7303000013");
    ids.heard("500000", "c");
    ids.heard("999999", "d");
    expect(hex(ids.numbered(apdu("0501 00")))).toBe("05010806061f7303000001");
  });

  test("go into an answer with its fields, and only when its message had a number", () => {
    const ids = agreed();
    const partly = apdu("849d 07 04 000000000100");
    expect(hex(ids.answering(partly, "000003"))).toBe("849d0f0400000000010006061f7303000003");
    expect(hex(ids.answering(partly, null))).toBe("849d0704000000000100");
  });

  test.each([
    ["was not asked for", apdu("0600 06 000000 be 0978"), echoed],
    ["was not echoed", asking, message("060f 00")],
  ])("are not used when the tag %s", (_name, registration, completion) => {
    const ids = new MessageIds();
    ids.numbered(registration);
    ids.registered(completion);
    expect(hex(ids.numbered(apdu("0501 00")))).toBe("050100");
    expect(ids.of(message("060f 08 06 06 1f7303000004"))).toBeNull();
  });

  test.each([
    ["Log-Off", apdu("0602 00")],
    ["another registration", asking],
  ])("end with %s", (_name, last) => {
    const ids = agreed();
    ids.numbered(last);
    expect(hex(ids.numbered(apdu("0501 00")))).toBe("050100");
  });

  test("show whether an answer belongs to an earlier message", () => {
    const ids = agreed();
    ids.numbered(apdu("0601 00"));
    ids.numbered(apdu("06b0 00"));
    expect([ids.isLate("000001"), ids.isLate("000002")]).toEqual([true, false]);
    // An answer without an id is never late: the session asks only about ids.
    expect(ids.of(message("8000 00"))).toBeNull();
    // We never sent this number: the terminal counts its answers otherwise.
    expect(ids.isLate("000047")).toBe(false);
  });

  test("are kept only for messages whose answers can still come", () => {
    const ids = agreed();
    for (let i = 0; i < 100; i++) ids.numbered(apdu("0501 00"));
    expect([ids.isLate("000001"), ids.isLate("000069")]).toEqual([false, true]);
  });
});
