import { describe, expect, test } from "vitest";
import {
  container,
  decodeApdu,
  decodeMessage,
  encodeApdu,
  encodeMessage,
  encodeText,
  fromHex,
  type MessageInput,
  type MessageName,
  tag,
  tagValue,
  toHex,
  withTag,
} from "../../src/zvt/index.ts";

const tenEuro = { amount: 10_00, currency: "0978" } as const;

/** Name, input and bytes, written from docs/zvt.md 6.1 to 7.3. */
const golden: readonly (readonly [MessageName, MessageInput, string])[] = [
  [
    "registration",
    {
      parts: { password: "123456", configByte: 0xbe, currency: "0978" },
      tags: [container("permittedCommands", [tag("command", fromHex("06d3"))])],
    },
    "06000e 123456 be 0978 0606 2604 0a0206d3",
  ],
  ["registration", { parts: { password: "000000", configByte: 0x3e } }, "060004 000000 3e"],
  [
    "authorisation",
    { fields: { amount: 110_00, currency: "0978", typeByte: 0x40, timeoutSeconds: 60 } },
    "06010e 04000000011000 490978 1940 013c",
  ],
  [
    "status-enquiry",
    { parts: { password: "000000" }, fields: { serviceByte: 6 } },
    "050105 000000 0306",
  ],
  ["status-enquiry", {}, "050100"],
  [
    "repeat-receipt",
    { parts: { password: "000000" }, fields: { serviceByte: 3 } },
    "062005 000000 0303",
  ],
  [
    "refund",
    { parts: { password: "123456" }, fields: tenEuro },
    "06310d 123456 04000000001000 490978",
  ],
  ["pre-authorisation", { fields: tenEuro }, "06220a 04000000001000 490978"],
  [
    "partial-reversal",
    { fields: { receiptNumber: "0042", ...tenEuro } },
    "06230d 870042 04000000001000 490978",
  ],
  [
    "book-total",
    { fields: { receiptNumber: "0042", ...tenEuro } },
    "06240d 870042 04000000001000 490978",
  ],
  ["turnover-totals", { parts: { password: "123456" } }, "061003 123456"],
  [
    "display-text",
    { fields: { duration: 10, text1Line1: "ABC", text1Line2: "D" }, charset: "cp437" },
    "06e00c f00a f1f0f3414243 f2f0f144",
  ],
  ["display-text", { fields: { duration: 0 } }, "06e002 f000"],
  ["abort", {}, "06b000"],
  [
    "set-date-time",
    { parts: { password: "000000" }, fields: { dateYYMMDD: "261231", time: "235959" } },
    "06910b 000000 aa261231 0c235959",
  ],
  [
    "print-turnover-receipts",
    { parts: { password: "000000", receiptFrom: "0041" } },
    "061205 000000 0041",
  ],
  ["change-baud-rate", { parts: { baudCode: 7 } }, "084001 07"],
  ["intermediate-status", { parts: { status: 0x0a } }, "04ff01 0a"],
  ["intermediate-status", { parts: { status: 0x0a, timeoutMinutes: 15 } }, "04ff02 0a 15"],
  [
    "intermediate-status",
    {
      parts: { status: 0xff, timeoutMinutes: 1 },
      tags: [container("displayTexts", [tag("textLine", "Hallo")])],
    },
    "04ff0d ff 01 06 09 24 07 07 05 48616c6c6f",
  ],
  ["status-completion", { parts: { terminalStatus: 0 } }, "060f01 00"],
  [
    "status-completion",
    { parts: { softwareVersion: "1.0", terminalStatus: 0xdc } },
    "060f07 f0f0f3312e30 dc",
  ],
  ["abort-from-pt", { parts: { resultCode: 0x6c } }, "061e01 6c"],
  ["abort-from-pt", { parts: { resultCode: 0x6f, currency: "0756" } }, "061e03 6f 0756"],
  ["abort-from-pt", {}, "061e00"],
  ["currency-refused", { parts: { resultCode: 0x6f, currency: "0756" } }, "841e03 6f 0756"],
  ["positive-acknowledgement", {}, "800000"],
  ["print-line", { parts: { attribute: 0x40, text: "Summe" } }, "06d106 40 53756d6d65"],
  ["print-line", { parts: { attribute: 0xff, lineFeeds: 3 } }, "06d102 ff 03"],
  [
    "status-information",
    {
      fields: {
        resultCode: 0,
        amount: 1234,
        trace: "000042",
        time: "101503",
        date: "1121",
        terminalId: "52523535",
        authorisationAttribute: "750071",
        currency: "0978",
        receiptNumber: "0042",
        cardType: 6,
        cardName: "Mastercard",
        contractNumber: "100461763",
        additionalText: "ok",
      },
    },
    "040f4e 2700 04000000001234 0b000042 0c101503 0d1121 2952523535 3b3735303037310000 490978" +
      "870042 8a06 8bf1f1 4d61737465726361726400 2a313030343631373633202020202020 3cf0f0f26f6b",
  ],
];

describe("golden bytes", () => {
  test.each(golden)("%s %j", (name, input, hex) => {
    const bytes = hex.replaceAll(" ", "");
    const apdu = encodeMessage(name, input);
    expect(toHex(encodeApdu(apdu))).toBe(bytes);
    const answering = name === "status-completion" ? { answering: 0x0501 } : {};
    const message = decodeMessage(decodeApdu(fromHex(bytes)), answering);
    expect(message.name).toBe(name);
    expect(message.parts).toEqual(input.parts ?? {});
    expect(message.fields).toEqual(withPadding(input.fields));
    expect(message.tags === null).toBe(input.tags === undefined);
    expect(message.unknownField).toBeNull();
  });
});

/** The contract number is filled up with blanks, which belong to its value. */
function withPadding(fields: MessageInput["fields"] = {}) {
  return fields.contractNumber ? { ...fields, contractNumber: "100461763      " } : fields;
}

test("84 xx carries its error code in the control field", () => {
  expect(toHex(encodeApdu(encodeMessage("negative-acknowledgement", { errorCode: 0x83 })))).toBe(
    "848300",
  );
  expect(decodeMessage({ control: 0x8466, data: new Uint8Array(0) }).name).toBe(
    "negative-acknowledgement",
  );
});

test("84 00 is a positive answer", () => {
  expect(decodeMessage({ control: 0x8400, data: new Uint8Array(0) }).name).toBe(
    "positive-acknowledgement",
  );
});

test("a terminal status of F0 is not taken for the length of a version", () => {
  const read = (hex: string) =>
    decodeMessage(decodeApdu(fromHex(hex)), { answering: 0x0501 }).parts;
  expect(read("060f01f0")).toEqual({ terminalStatus: 0xf0 });
  expect(read("060f03f00600")).toEqual({ terminalStatus: 0xf0 });
  expect(read("060f05f0f0f141f6")).toEqual({ softwareVersion: "A", terminalStatus: 0xf6 });
});

test("04 FF with 06 alone after the status has a time-out of six minutes", () => {
  expect(decodeMessage(decodeApdu(fromHex("04ff021706"))).parts.timeoutMinutes).toBe(6);
});

test("04 FF with a container right after the status has no time-out", () => {
  const message = decodeMessage(decodeApdu(fromHex("04ff091706061f7303000002")));
  expect(message.parts).toEqual({ status: 0x17 });
  expect(tagValue(message.tags, "messageSequence")).toBe("000002");
});

test.each([
  ["an id", "06061f7303000007"],
  ["a receipt type and an id", "060a1f0701021f7303000007"],
  ["an id and a receipt type", "060a1f73030000071f070102"],
])("a print line may have a container with %s after its text", (_name, container) => {
  const hex = `06d1${(3 + container.length / 2).toString(16).padStart(2, "0")}094869${container}`;
  const message = decodeMessage(decodeApdu(fromHex(hex)));
  expect(message.parts).toEqual({ attribute: 0x09, text: "Hi" });
  expect(tagValue(message.tags, "messageSequence")).toBe("000007");
});

test.each([
  ["at the end of the container", "06700506031b0102", "06700b06091b01021f7303000007"],
  ["in a container of its own", "050103000000", "05010b00000006061f7303000007"],
])("a tag is added %s", (_name, before, after) => {
  const larger = withTag(decodeApdu(fromHex(before)), tag("messageSequence", "000007"));
  expect(toHex(encodeApdu(larger))).toBe(after);
});

test("a time-out of 04 FF that is not decimal counts as not sent", () => {
  expect(decodeMessage(decodeApdu(fromHex("04ff0217af"))).parts).toEqual({ status: 0x17 });
});

test("the short form of a vendor, a bare result code before the amount, is read", () => {
  const message = decodeMessage(decodeApdu(fromHex("040f0b0004000000001010870007")));
  expect(message.parts).toEqual({ resultCode: 0 });
  expect(message.fields).toEqual({ amount: 1010, receiptNumber: "0007" });
});

test("a bare byte without an amount after it is an unknown field, not a result", () => {
  const message = decodeMessage(decodeApdu(fromHex("040f0100")));
  expect(message.parts).toEqual({});
  expect(message.unknownField).toBe(0);
});

test("an unknown field ends the reading, and the fields before it are kept", () => {
  const message = decodeMessage(decodeApdu(fromHex("040f0c27000400000000100077aabb")));
  expect(message.fields).toEqual({ resultCode: 0, amount: 1000 });
  expect(message.unknownField).toBe(0x77);
});

test("an unknown command has a control field and nothing else", () => {
  expect(decodeMessage(decodeApdu(fromHex("0fa1020001")))).toEqual({
    name: "unknown",
    control: 0x0fa1,
    parts: {},
    fields: {},
    tags: null,
    unknownField: null,
  });
});

test("06 1E with 6F takes a bare currency, a numbered one, and a container alone", () => {
  const decode = (hex: string) => decodeMessage(decodeApdu(fromHex(hex)));
  expect(decode("061e036f0978").parts.currency).toBe("0978");
  expect(decode("061e046f490978").fields.currency).toBe("0978");
  const contained = decode("061e086f06051f17026f6b");
  expect(contained.parts.currency).toBeUndefined();
  expect(tagValue(contained.tags, "vendorErrorText")).toBe("ok");
});

test("a container after the text of a print line is not text", () => {
  const message = decodeMessage(decodeApdu(fromHex("06d1094048690604 1f070102".replace(" ", ""))));
  expect(message.parts).toEqual({ attribute: 0x40, text: "Hi" });
  expect(tagValue(message.tags, "receiptType")).toBe(2);
});

/** As many masked digits. */
const x = (digits: number) => "X".repeat(digits);

describe("card numbers", () => {
  test("22 is masked to the first six and last four digits", () => {
    const apdu = encodeMessage("status-information", { fields: { pan: "4111111111111111" } });
    expect(toHex(apdu.data)).toBe("22f0f84111111111111111");
    expect(decodeMessage(apdu).fields.pan).toBe(`411111${x(6)}1111`);
  });

  test("digits that the terminal masked with E become X, padding F goes", () => {
    const decode = (hex: string) => decodeMessage(decodeApdu(fromHex(hex))).fields.pan;
    expect(decode("040f0b22f0f8eeeeeeeeeeee4771")).toBe(`${x(12)}4771`);
    expect(decode("040f0d22f1f0eeeeeeeeeeeeeee8004f")).toBe(`${x(15)}8004`);
    expect(decode("040f0322f0f0")).toBe("");
  });

  test("of track 2 and of an EF_ID only the masked number is left", () => {
    const decode = (hex: string) => decodeMessage(decodeApdu(fromHex(hex))).fields;
    expect(decode("040f1323f1f64111111111111111d241220112345678").track2).toBe(`411111${x(6)}1111`);
    expect(decode("040f1322f1f65966666666d200212201001700018701").pan).toBe(`${x(10)}`);
  });

  test("tracks 1 and 3, chip data, verification code and PIN data are only counted", () => {
    const apdu = encodeMessage("authorisation", {
      fields: {
        track1: fromHex("4234313131"),
        track3: fromHex("0011"),
        chipData: fromHex("57104111"),
        cvv: fromHex("123f"),
        pinData: fromHex("0102"),
      },
    });
    expect(decodeMessage(apdu).fields).toEqual({
      track1: { hiddenBytes: 5 },
      track3: { hiddenBytes: 2 },
      chipData: { hiddenBytes: 4 },
      cvv: { hiddenBytes: 2 },
      pinData: { hiddenBytes: 2 },
    });
  });

  test("card numbers in texts are masked: print lines, names, display texts", () => {
    const number = "4111 1111 1111 1111";
    const masked = `4111 11XX ${x(4)} 1111`;
    expect(
      decodeMessage(encodeMessage("print-line", { parts: { attribute: 0, text: number } })).parts
        .text,
    ).toBe(masked);
    const apdu = encodeMessage("status-information", {
      fields: { additionalText: number },
      tags: [container("printTexts", [tag("textLine", number)]), tag("emvPrintCustomer", number)],
    });
    const message = decodeMessage(apdu);
    expect(message.fields.additionalText).toBe(masked);
    expect(tagValue(message.tags, "printTexts", "textLine")).toBe(masked);
    expect(tagValue(message.tags, "emvPrintCustomer")).toBe(masked);
  });
});

test("a text is decoded with the set that is named", () => {
  const decode = (charset: "iso8859-1" | "utf8" | "zvt7" | "cp437") =>
    decodeMessage(
      { control: 0x06d1, data: Uint8Array.of(0, ...encodeText("Grüße Ä", charset)) },
      { charset },
    ).parts.text;
  expect([decode("iso8859-1"), decode("utf8"), decode("zvt7"), decode("cp437")]).toEqual(
    Array(4).fill("Grüße Ä"),
  );
});

/** One broken sample for every code. */
const broken: readonly (readonly [string, string, string])[] = [
  ["truncated", "a field needs more bytes than there are", "040f03040000"],
  ["truncated", "a container claims more than there is", "040f0427000605"],
  ["length-digit", "a length digit is FA", "040f058bf0fa4141"],
  ["length-digit", "a length digit of LLLVAR is 78", "040f046078f276"],
  ["tlv-length", "a TLV length is 80", "040f0206 80"],
  ["tlv-length", "a TLV length is 83", "040f05068300 0001"],
  ["tag", "a tag has five bytes", "040f08 06061fffffffff00"],
  ["not-decimal", "an amount has a nibble A", "040f0704000000001a00"],
  [
    "duplicate-field",
    "the amount stands there twice and differs",
    "040f0e0400000000100004000000002000",
  ],
  ["missing-part", "the registration ends inside the password", "0600021234"],
  ["trailing-bytes", "the totals are too long", `040f3a60f0f5f4${"00".repeat(54)}`],
];

test.each(broken)("%s: %s", (code, _what, hex) => {
  expect(() => decodeMessage(decodeApdu(fromHex(hex.replaceAll(" ", ""))))).toThrow(
    expect.objectContaining({ name: "ZvtCodecError", code }),
  );
});

test("containers nested 65535 bytes deep are refused without exhausting the stack", () => {
  let inside = new Uint8Array(0);
  for (let depth = 0; depth < 40; depth++) {
    const grown = new Uint8Array(inside.length + 2);
    grown.set([0x24, inside.length]);
    grown.set(inside, 2);
    inside = grown;
  }
  const data = Uint8Array.of(0x06, inside.length, ...inside);
  expect(() => decodeMessage({ control: 0x040f, data })).toThrow(
    expect.objectContaining({ code: "tlv-depth" }),
  );
  const tower = Uint8Array.from({ length: 65_000 }, (_, i) => (i % 2 ? 0x7f : 0x3f));
  expect(() => decodeMessage({ control: 0x040f, data: tower })).not.toThrow(RangeError);
});

test("the same field twice with the same content is no contradiction", () => {
  expect(decodeMessage(decodeApdu(fromHex("040f0427002700"))).fields.resultCode).toBe(0);
});

test.each<readonly [string, () => unknown]>([
  ["an amount with a fraction", () => encodeMessage("authorisation", { fields: { amount: 1.5 } })],
  ["a negative amount", () => encodeMessage("authorisation", { fields: { amount: -1 } })],
  ["thirteen digits", () => encodeMessage("authorisation", { fields: { amount: 1e12 } })],
  ["a byte of 256", () => encodeMessage("authorisation", { fields: { typeByte: 256 } })],
  [
    "three digits too many",
    () => encodeMessage("authorisation", { fields: { currency: "0097800" } }),
  ],
  ["letters for digits", () => encodeMessage("authorisation", { fields: { currency: "EURO" } })],
  [
    "a password of four digits",
    () => encodeMessage("registration", { parts: { password: "1234", configByte: 0 } }),
  ],
  [
    "a card name of 100 characters",
    () => encodeMessage("status-information", { fields: { cardName: "x".repeat(100) } }),
  ],
])("%s cannot be encoded", (_what, encode) => {
  expect(encode).toThrow(expect.objectContaining({ name: "ZvtCodecError" }));
});

test("a required part that is missing cannot be encoded", () => {
  expect(() => encodeMessage("registration", {})).toThrow(
    expect.objectContaining({ code: "missing-part" }),
  );
});
