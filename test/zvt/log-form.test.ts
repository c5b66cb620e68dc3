import { expect, test } from "vitest";
import {
  container,
  decodeApdu,
  decodeMessage,
  encodeMessage,
  fromHex,
  messageTitle,
  rawTag,
  safeHex,
  tag,
  tagValue,
} from "../../src/zvt/index.ts";

const pan = "4111111111111111";

test("amount, trace and terminal id are shown, the card number is not", () => {
  const apdu = encodeMessage("status-information", {
    fields: { resultCode: 0, amount: 1234, pan, terminalId: "52523535" },
  });
  expect(safeHex(apdu)).toBe(`040f1927000400000000123422f0f8${"..".repeat(8)}2952523535`);
});

test("tracks, chip data, card ids and unknown tags are not shown", () => {
  const apdu = encodeMessage("status-information", {
    fields: { track1: fromHex("41414141"), track2: `${pan}D2412`, efId: fromHex("0011") },
    tags: [
      tag("track2", fromHex("4111")),
      tag("uid", fromHex("aabb")),
      container("card", [rawTag(0xc1, fromHex("1223"))]),
    ],
  });
  const logged = safeHex(apdu);
  expect(logged.replaceAll(".", "")).toBe("040f2b2df0f423f1f1a7f0f2060f1f09024c02e604c102");
  expect(logged).not.toMatch(/4111|aabb|1223|0011/);
});

test("a card number in a text is hidden digit by digit, the rest of the text is there", () => {
  const apdu = encodeMessage("print-line", { parts: { attribute: 0, text: `Nr ${pan}.` } });
  expect(safeHex(apdu)).toBe(`06d115004e7220343131313131${"..".repeat(6)}313131312e`);
});

test("a card number in the digits of a tag is neither shown nor decoded", () => {
  const apdu = encodeMessage("status-information", { tags: [tag("longTrace", pan)] });
  expect(safeHex(apdu)).toBe(`040f0d060b1f2b08${"..".repeat(8)}`);
  expect(tagValue(decodeMessage(apdu).tags, "longTrace")).toBe("411111XXXXXX1111");
});

test("passwords are not shown", () => {
  expect(safeHex(encodeMessage("end-of-day", { parts: { password: "123456" } }))).toBe(
    "065003......",
  );
  const registration = encodeMessage("registration", {
    parts: { password: "123456", configByte: 0xbe, currency: "0978" },
  });
  expect(safeHex(registration)).toBe("060006......be0978");
});

test("of what cannot be read only the head is shown", () => {
  expect(safeHex(decodeApdu(fromHex("040f058bf0fa4141")))).toBe("040f05..........");
  expect(safeHex(decodeApdu(fromHex("0fa1020001")))).toBe("0fa102....");
  expect(safeHex(decodeApdu(fromHex("040f0527007741aa")))).toBe("040f052700......");
});

test("lengths of all forms are shown as they are", () => {
  const apdu = encodeMessage("print-text-block", {
    tags: [container("printTexts", [tag("textLine", "x".repeat(300))])],
  });
  expect(safeHex(apdu)).toBe(`06d3ff380106820134258201300782012c${"78".repeat(300)}`);
  const status = decodeApdu(fromHex("060f07f0f0f3312e3000"));
  expect(safeHex(status, { answering: 0x0501 })).toBe("060f07f0f0f3312e3000");
});

test("a message is named by its control field", () => {
  expect(messageTitle(decodeApdu(fromHex("060f00")))).toBe("060f completion");
  expect(messageTitle(decodeApdu(fromHex("060f00")), { answering: 0x0501 })).toBe(
    "060f status-completion",
  );
  expect(messageTitle(decodeApdu(fromHex("848300")))).toBe("8483 negative-acknowledgement");
  expect(messageTitle(decodeApdu(fromHex("0fa100")))).toBe("0fa1 unknown");
});
