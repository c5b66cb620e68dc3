import { describe, expect, test } from "vitest";
import { maskPansInText } from "../../../../src/shared/masking/mask.ts";
import { FixedReading, TaggedReading } from "../../../../src/simulator/terminal/concert/reading.ts";
import { hasAny, hexBytes, rowsOf } from "../../../concert/vectors.ts";
import { PATIENCE_MS } from "../../../support/clocks/patience.ts";
import { fixedRequest, type Setting, started, taggedRequest, tags } from "./support/started.ts";

/** Real card numbers have such a check digit; nobody has this one. */
const CARD = "4970101122334455";
const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"));

/** Each field in one line, as a person reads it. */
function lines({ fields = [] }: ReturnType<FixedReading["read"]>): readonly string[] {
  return fields.map(({ tag, name, value, means }) =>
    [
      ...(tag === undefined ? [] : [tag]),
      `${name}: ${value}`,
      ...(means ? [`= ${means}`] : []),
    ].join(" "),
  );
}

describe("fixed fields on the page", () => {
  test.each([
    ["E", ""],
    ["E+", "A010B010"],
    ["E with a ticket", "T012"],
  ])("a request of %s is shown field by field", (name, options) => {
    const body = fixedRequest(1250, { reference: "K-7", options });
    const entry = new FixedReading().read(bytes(body), "in");
    expect([entry.message, entry.says]).toEqual([
      "type 0 debit",
      `${name}, 12.50 EUR, register 01`,
    ]);
    expect(lines(entry)).toEqual([
      "register: 01",
      "amount: 00001250 = 12.50 EUR",
      "answer: 1 = a report with the card number",
      "payment mode: 1 = bank card",
      "transaction type: 0 = debit",
      "currency: 978 = EUR",
      "private: K-7       ",
      ...{
        E: [],
        "E+": [
          "when to answer: A010 = answer at the end",
          "authorisation: B010 = the terminal decides",
        ],
        "E with a ticket": ["receipt: T012 = a receipt after the answer"],
      }[name as "E"],
    ]);
    expect(entry.text?.replaceAll("|", "")).toBe(body);
  });

  test("a reply shows its status and hides the card number, filled up with blanks or zeros", () => {
    for (const filled of [CARD.padEnd(55), CARD.padEnd(55, "0")]) {
      const entry = new FixedReading().read(bytes(`010000012501${filled}978K-7       `), "out");
      expect([entry.message, entry.says]).toEqual([
        "status 0 accepted",
        expect.stringMatching(/^12\.50 EUR, card 497010XXXXXX/),
      ]);
      expect(entry.text).toMatch(/^01\|0\|00001250\|1\|497010XXXXXX[\dX. ]{43}\|978\|K-7 {7}$/);
      expect(JSON.stringify(entry)).not.toMatch(/4970101|2334455/);
    }
    const short = new FixedReading().read(bytes("017000012501978          "), "out");
    expect([short.message, ...lines(short)]).toEqual([
      "status 7 not accepted",
      "register: 01",
      "status: 7 = not accepted",
      "amount: 00001250 = 12.50 EUR",
      "payment mode: 1 = bank card",
      "currency: 978 = EUR",
      "private:            = blank",
    ]);
  });

  test("the lines of a ticket stand after a reply, without the card number", () => {
    const reading = new FixedReading();
    reading.read(bytes(fixedRequest(1250, { options: "T012" })), "in");
    const ticket = `CARTE BANCAIRE\n${CARD}\nMERCI\n`;
    const entry = reading.read(
      bytes(`010000012501${" ".repeat(55)}978${" ".repeat(10)}${ticket}`),
      "out",
    );
    expect(lines(entry).at(-1)).toBe("receipt: CARTE BANCAIRE\n497010XXXXXX4455\nMERCI\n");
    expect(JSON.stringify(entry)).not.toContain(CARD);
  });

  test("a body that is no message is shown with the reason, and long numbers are hidden", () => {
    const entry = new FixedReading().read(bytes(`${CARD}!`), "in");
    expect(entry).toEqual({
      message: "not a request",
      note: "(a request has 26, 30 or 34 characters, not 17)",
      text: "497010XXXXXX4455!",
    });
  });
});

describe("messages of tags on the page", () => {
  test("each tag has its name, its value and what it means", () => {
    const entry = new TaggedReading().read(
      bytes(taggedRequest(1250, { CF: "K-7", CK: "100", BA: "0", XY: "?" })),
      "in",
    );
    expect([entry.message, entry.says]).toEqual(["CD 0 debit", "12.50 EUR, register 01"]);
    expect(lines(entry)).toEqual([
      "CZ protocol version: 0300",
      "CJ identifier of the register's software: 012345678901",
      "CA register number: 01",
      "CE currency: 978 = EUR",
      "CD action: 0 = debit",
      "CB amount: 1250 = 12.50 EUR",
      "CF private data: K-7",
      "CK receipt on the register: 100 = the customer's, as text",
      "BA when to answer: 0 = at the end",
      "XY not described: ?",
    ]);
    expect(entry.text).toMatch(/^CZ 004 0300\|CJ 012 012345678901\|CA 002 01\|.*\|XY 001 \?$/);
  });

  test("an answer says what was done and why not, and opens the receipt", () => {
    const receipt = Buffer.from(`CB\n${CARD}\n`).toString("base64");
    const body = tags({
      CZ: "0301",
      CB: "000000001250",
      CE: "978",
      AE: "10",
      CC: "00B",
      CI: "2",
      AA: CARD,
      ZT: tags({ CK: "100", AK: `${receipt}\n` }),
    });
    const entry = new TaggedReading().read(bytes(body), "out");
    expect([entry.message, entry.says]).toEqual(["AE 10 done", "12.50 EUR, card 497010XXXXXX4455"]);
    expect(lines(entry).slice(1)).toEqual([
      "CB amount: 000000001250 = 12.50 EUR",
      "CE currency: 978 = EUR",
      "AE state of the action: 10 = done",
      "CC payment application: 00B = bank card, contactless",
      "CI reading mode: 2 = contactless",
      "AA card number: 497010XXXXXX4455",
      expect.stringMatching(/^ZT container of the receipt: \d+ characters$/),
      "CK receipt on the register: 100 = the customer's, as text",
      "AK receipt text: CB\n497010XXXXXX4455\n",
    ]);
    const displayed = JSON.stringify(entry);
    expect(displayed).not.toContain(CARD);
    expect(displayed).not.toContain(receipt.slice(4, 16));
    const refused = new TaggedReading().read(bytes("AE00201AF00206"), "out");
    expect([refused.message, refused.says]).toEqual([
      "AE 01 not done",
      "AF 06 abandoned by the customer",
    ]);
  });

  test("what cannot be read is shown as far as it goes, without a card number", () => {
    const entry = new TaggedReading().read(bytes(`CZ0040300CF0${CARD}`), "in");
    expect(entry).toMatchObject({ message: "no action", note: expect.stringContaining("at byte") });
    expect(JSON.stringify(entry)).not.toContain(CARD);
  });
});

describe.skipIf(!hasAny("frame", "message"))("published bytes (CONFORMANCE_VECTORS)", () => {
  test.each([...rowsOf("frame"), ...rowsOf("message")])("%s is read whole", (_id, vector) => {
    const { hex, kind, direction, protocol } = vector;
    const body = kind === "frame" ? hexBytes(hex).slice(1, -2) : hexBytes(hex);
    const reading = protocol === "caisse-ap" ? new TaggedReading() : new FixedReading();
    const entry = reading.read(body, direction === "register-to-terminal" ? "in" : "out");
    expect(entry).not.toHaveProperty("note");
    expect(entry.fields).not.toEqual([]);
    // No field but a card number has so many digits; a receipt has its numbers side by side.
    const long = entry.fields?.filter(
      ({ tag, value }) => tag !== "AK" && /[1-9]\d{12}/.test(value),
    );
    expect(long).toEqual([]);
    expect(maskPansInText(JSON.stringify(entry.fields))).toBe(JSON.stringify(entry.fields));
  });
});

test("the trace of a whole payment reads as the conversation went", async () => {
  const entry = async (setting: Setting, body: string) => {
    const { register, simulator } = await started(setting);
    if (setting.sessions) await register.ask(body, PATIENCE_MS);
    else {
      register.say(body);
      await register.rest(PATIENCE_MS);
    }
    return simulator.terminal.trace
      .last(100)
      .filter(({ what }) => what !== "phase" && what !== "open" && what !== "close")
      .map(({ direction, message }) => `${direction} ${message}`);
  };
  const inSession = (request: string, reply: string) => [
    "in ENQ",
    "out ACK",
    `in ${request}`,
    "out ACK",
    "in EOT",
    "out ENQ",
    "in ACK",
    `out ${reply}`,
    "in ACK",
    "out EOT",
  ];
  expect(
    await entry({ transport: "tcp", family: "concert", sessions: true }, fixedRequest(1200)),
  ).toEqual(inSession("type 0 debit", "status 0 accepted"));
  const tagged = taggedRequest(1205);
  expect(await entry({ transport: "tcp", family: "caisse-ap", sessions: true }, tagged)).toEqual(
    inSession("CD 0 debit", "AE 01 not done"),
  );
  expect(await entry({ transport: "tcp", family: "caisse-ap", sessions: false }, tagged)).toEqual([
    "in CD 0 debit",
    "out AE 01 not done",
  ]);
});
