import { createCipheriv, createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  bodyOf,
  headerFor,
  majorNumber,
  minorOf,
  NexoCodecError,
  type NexoKey,
  type NexoMessage,
  NONCE_BYTES,
  nexoKey,
  readAdditional,
  readCommonName,
  readMessage,
  readRefusal,
  timeOf,
  writeMessage,
  writePairs,
  writeRefusal,
} from "../../src/nexo/index.ts";
import { readPairs } from "../../src/nexo/pairs.ts";
import { currencyOf } from "../../src/shared/money.ts";
import { tries } from "../support/run/scope.ts";

const options = { numRuns: tries(300), seed: 1 };
const key = nexoKey("our key", 3, "p@ssw0rd123456");
const nonce = fc.uint8Array({ minLength: NONCE_BYTES, maxLength: NONCE_BYTES }).map(Buffer.from);
const name = fc.stringMatching(/^[A-Za-z0-9]{1,10}$/);
const message = fc
  .record({ saleId: name, serviceId: name, poiId: name, text: fc.string({ unit: "binary" }) })
  .map(({ text, ...ids }): NexoMessage => {
    const header = headerFor("Payment", "Request", ids);
    return { root: "SaleToPOIRequest", header, name: "PaymentRequest", body: { text } };
  });
const sealed = fc.tuple(message, nonce).map(([one, random]) => writeMessage(one, key, random));

function errorOf(action: () => unknown): NexoCodecError | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof NexoCodecError) return error;
    throw error;
  }
  return undefined;
}

const codeOf = (action: () => unknown): string | undefined => errorOf(action)?.code;

type Members = Record<string, unknown> & {
  MessageHeader: Record<string, unknown>;
  SecurityTrailer: Record<string, unknown>;
  NexoBlob: string;
};

/** Changes the members of a protected message. */
function changed(text: string, change: (members: Members) => void): string {
  const whole = JSON.parse(text) as { SaleToPOIRequest: Members };
  change(whole.SaleToPOIRequest);
  return JSON.stringify(whole);
}

/** Returns base64 text of the same bytes but for one bit. */
function otherBit(base64: string, at: number): string {
  const bytes = Buffer.from(base64, "base64");
  const byte = Math.floor(at / 8) % bytes.length;
  bytes.writeUInt8(bytes.readUInt8(byte) ^ (1 << (at % 8)), byte);
  return bytes.toString("base64");
}

describe("whatever the values are", () => {
  test("a message is read as it was written, protected and in clear", () => {
    fc.assert(
      fc.property(message, nonce, (one, random) => {
        expect(readMessage(writeMessage(one, key, random), key)).toEqual(one);
        expect(readMessage(writeMessage(one, null, random), null)).toEqual(one);
      }),
      options,
    );
  });

  const bit = fc.nat({ max: 1_000_000 });
  test.each<[string, string, (members: Members, at: number) => void]>([
    ["protected text", "not-genuine", (one, at) => (one.NexoBlob = otherBit(one.NexoBlob, at))],
    [
      "nonce",
      "not-genuine",
      ({ SecurityTrailer: one }, at) => (one["Nonce"] = otherBit(String(one["Nonce"]), at)),
    ],
    [
      "code of authenticity",
      "not-genuine",
      ({ SecurityTrailer: one }, at) => (one["Hmac"] = otherBit(String(one["Hmac"]), at)),
    ],
  ])("one changed bit of the %s is refused", (_what, code, change) => {
    fc.assert(
      fc.property(sealed, bit, (text, at) => {
        const wrong = changed(text, (members) => change(members, at));
        expect(codeOf(() => readMessage(wrong, key))).toBe(code);
      }),
      options,
    );
  });

  test("any other member of the header outside is refused", () => {
    fc.assert(
      fc.property(
        sealed,
        fc.constantFrom("SaleID", "ServiceID", "POIID"),
        name,
        (text, member, to) => {
          const wrong = changed(text, ({ MessageHeader }) => {
            MessageHeader[member] = `${to}${String(MessageHeader[member])}`;
          });
          expect(codeOf(() => readMessage(wrong, key))).toBe("header");
        },
      ),
      options,
    );
  });

  test("no text makes the reader fail in another way than by its error", () => {
    const texts = fc.oneof(
      fc.string(),
      fc.json(),
      sealed.map((text) => text.slice(0, -7)),
    );
    fc.assert(
      fc.property(texts, fc.constantFrom(key, null), (text, own) => {
        expect(codeOf(() => readMessage(text, own))).toMatch(/^(json|shape|clear|protected)$/);
        readRefusal(text);
        readAdditional(text);
      }),
      options,
    );
  });

  test("amounts and pairs are read as they were written", () => {
    const currency = fc.constantFrom(
      ...["EUR", "JPY", "BHD"].flatMap((alpha) => currencyOf(alpha) ?? []),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 99_999_999 }), currency, (amountMinor, one) => {
        expect(minorOf(JSON.stringify(majorNumber(amountMinor, one)), one)).toBe(amountMinor);
      }),
      options,
    );
    fc.assert(
      fc.property(fc.dictionary(name, fc.string()), (pairs) => {
        const read = readPairs(writePairs(pairs));
        expect(Object.fromEntries(read)).toEqual({ ...pairs });
      }),
      options,
    );
  });
});

/** Protects a text as a terminal does, but with the given padding. */
function withPadding(plain: Buffer, padding: Buffer, { hmacKey, cipherKey, iv }: NexoKey) {
  const cipher = createCipheriv("aes-256-cbc", cipherKey, iv).setAutoPadding(false);
  const blob = Buffer.concat([cipher.update(Buffer.concat([plain, padding])), cipher.final()]);
  const hmac = createHmac("sha256", hmacKey).update(plain).digest("base64");
  return { NexoBlob: blob.toString("base64"), Hmac: hmac, Nonce: Buffer.alloc(NONCE_BYTES) };
}

describe("a text that no terminal writes", () => {
  test("with a string that never ends is refused in one pass", () => {
    const startedMs = performance.now();
    expect(codeOf(() => readMessage(`{"a":"${'\\"'.repeat(200_000)}`, key))).toBe("json");
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });

  test("with forty-one levels is refused; brackets in a string are none", () => {
    const deep = (levels: number) => `{"a":${"[".repeat(levels)}${"]".repeat(levels)}}`;
    expect(codeOf(() => readMessage(deep(39), null))).toBe("shape");
    expect(codeOf(() => readMessage(deep(40), null))).toBe("json");
    const quoted = JSON.stringify({ a: `\\"${"[".repeat(50)}` });
    expect(codeOf(() => readMessage(quoted, null))).toBe("shape");
  });
});

describe("without the vectors, too,", () => {
  test("a passphrase gives the published key", () => {
    const { hmacKey, cipherKey, iv } = nexoKey("id", 1, "p@ssw0rd123456");
    expect([hmacKey, cipherKey, iv].map((bytes) => bytes.toString("hex"))).toEqual([
      "733636253b5b98f9a483b1a678d73a58dab2accafbc029ecbe12d60eaa909e32",
      "cf2c822761b9f5305bf69970bfa7b659a6724a119db21f8b0e949779f2ea022c",
      "bb9ba8092e6027c735398dc65977c051",
    ]);
  });

  test.each([
    ["P400Plus-275039202.test.terminal.adyen.com", { of: "terminal", serial: "275039202" }],
    ["legacy-terminal-certificate.test.terminal.adyen.com", { of: "any-terminal" }],
    ["P400Plus-275039202.live.terminal.adyen.com", null],
    ["P400Plus-275039202.test.terminal.adyen.com.example.org", null],
    ["P4-275039202.test.terminal.adyen.com", null],
  ])("the name %s is read", (name, expected) => {
    const read = readCommonName(name, "test");
    if (expected === null) expect(read).toBeNull();
    else expect(read).toMatchObject(expected);
  });
});

describe("a protected message", () => {
  const ids = { saleId: "kiosk", serviceId: "K000000001", poiId: "P400Plus-275039202" };
  const header = headerFor("Diagnosis", "Request", ids);
  const one: NexoMessage = { root: "SaleToPOIRequest", header, name: "DiagnosisRequest", body: {} };
  const text = writeMessage(one, key, Buffer.alloc(NONCE_BYTES, 7));

  test.each<[string, string, (members: Members) => void]>([
    ["another identifier of the key", "key", (it) => (it.SecurityTrailer["KeyIdentifier"] = "x")],
    ["another version of the key", "key", (it) => (it.SecurityTrailer["KeyVersion"] = 4)],
    [
      "another version of the protection",
      "protection-version",
      (it) => (it.SecurityTrailer["AdyenCryptoVersion"] = 2),
    ],
    ["no nonce", "shape", (it) => delete it.SecurityTrailer["Nonce"]],
    ["no trailer", "shape", (it) => Reflect.deleteProperty(it, "SecurityTrailer")],
    ["the trailer null", "shape", (it) => Reflect.set(it, "SecurityTrailer", null)],
    ["a nonce that is cut", "not-genuine", (it) => (it.SecurityTrailer["Nonce"] = "AAAA")],
    ["a nonce that is no base64", "not-genuine", (it) => (it.SecurityTrailer["Nonce"] = "?")],
    ["an empty protected text", "not-genuine", (it) => (it.NexoBlob = "")],
    ["no protected text", "clear", (it) => Reflect.deleteProperty(it, "NexoBlob")],
    ["a further member of the header", "header", (it) => (it.MessageHeader["DeviceID"] = "1")],
    ["a member less of the header", "header", (it) => delete it.MessageHeader["SaleID"]],
    ["no header", "shape", (it) => Reflect.deleteProperty(it, "MessageHeader")],
  ])("with %s is refused", (_what, code, change) => {
    expect(codeOf(() => readMessage(changed(text, change), key))).toBe(code);
  });

  test("with a wrong padding is refused with the same text as with a wrong code", () => {
    const plain = Buffer.from(JSON.stringify({ SaleToPOIRequest: { MessageHeader: header } }));
    const size = 16 - (plain.length % 16);
    const texts = [Buffer.alloc(size, size + 1), Buffer.alloc(size, 0)].map((padding) => {
      const { NexoBlob, Hmac, Nonce } = withPadding(plain, padding, key);
      const wrong = changed(text, (members) => {
        members.NexoBlob = NexoBlob;
        members.SecurityTrailer["Hmac"] = Hmac;
        members.SecurityTrailer["Nonce"] = Nonce.toString("base64");
      });
      return errorOf(() => readMessage(wrong, key));
    });
    const forged = changed(text, (members) => {
      members.SecurityTrailer["Hmac"] = Buffer.alloc(32).toString("base64");
    });
    const error = errorOf(() => readMessage(forged, key));
    expect(error?.code).toBe("not-genuine");
    expect(texts.map((one) => one?.message)).toEqual([error?.message, error?.message]);
  });

  test("is read with blanks and line breaks in its base64, and with its numbers as texts", () => {
    const loose = changed(text, (members) => {
      members.NexoBlob = members.NexoBlob.replace(/.{20}/g, "$&\r\n  ");
      members.SecurityTrailer["KeyVersion"] = "3";
    });
    expect(readMessage(loose.replaceAll("/", "\\/"), key)).toEqual(one);
  });

  test("is not read without a key, and one in clear not with a key", () => {
    expect(codeOf(() => readMessage(text, null))).toBe("protected");
    const clear = writeMessage(one, null, Buffer.alloc(NONCE_BYTES));
    expect(codeOf(() => readMessage(clear, key))).toBe("clear");
    expect(readMessage(clear, null)).toEqual(one);
  });
});

test.each(["", "Schlüssel", "tab\t", "line\n", "emoji 🙂"])(
  "the passphrase %j is refused",
  (phrase) => {
    expect(codeOf(() => nexoKey("id", 0, phrase))).toBe("passphrase");
  },
);

test("a body that lacks a member is refused by its name, and no value is repeated", () => {
  const body = { Response: { Result: ["4111111111111111"] } };
  const refused = () => bodyOf({ name: "PaymentResponse", body }, "PaymentResponse");
  expect(refused).toThrow("PaymentResponse.Response.Result");
  expect(refused).not.toThrow("4111");
});

test.each<[string, Record<string, unknown>]>([
  ["receipts that are null", { PaymentReceipt: null }],
  ["receipts in one object", { PaymentReceipt: { OutputContent: {} } }],
  ["a receipt without a qualifier", { PaymentReceipt: [{ OutputContent: {} }, null] }],
  ["a line as one object", { PaymentReceipt: [{ OutputContent: { OutputText: {} } }] }],
  ["no time stamp", { POIData: { POITransactionID: { TransactionID: "a.b" } } }],
  ["a terminal's id of another form", { POIData: { POITransactionID: "a.b" } }],
  ["a null in every place", { POIData: null, SaleData: null, Extra: null }],
])("an approval with %s is read", (_what, odd) => {
  const PaymentResult = {
    OnlineFlag: "True",
    AmountsResp: { Currency: "EUR", AuthorizedAmount: 12.5, TipAmount: null },
    PaymentAcquirerData: { MerchantID: ["a"], ApprovalCode: null },
    PaymentInstrumentData: { CardData: { MaskedPan: null, EntryMode: [null], PaymentBrand: {} } },
  };
  const Response = { Result: "Success", ErrorCondition: null, AdditionalResponse: { a: "b" } };
  const ids = { saleId: "kiosk", serviceId: "K000000001", poiId: "P400Plus-275039202" };
  const header = headerFor("Payment", "Response", ids);
  const body = { Response, PaymentResult, ...odd };
  const name = "PaymentResponse";
  const clear = { root: "SaleToPOIResponse", header, name, body } as const;
  const read = bodyOf(readMessage(writeMessage(clear, null, Buffer.alloc(0)), null), name);
  expect(read.Response).toMatchObject({ Result: "Success", AdditionalResponse: '{"a":"b"}' });
  expect(read.PaymentResult?.AmountsResp).toEqual({ Currency: "EUR", AuthorizedAmount: "12.5" });
  expect(read.PaymentResult?.OnlineFlag).toBe(true);
});

test("errors in clear are read, and nothing else is taken for them", () => {
  const missing = "At SaleToPOIRequest, field PaymentRequest: Missing";
  const noKey = "Nexo Service: crypto error (3)";
  const about = (...errors: readonly string[]) => readRefusal(writeRefusal(errors))?.about;
  expect(readRefusal(writeRefusal([noKey]))).toEqual({ text: noKey, about: "key" });
  const text = `${missing}; field NexoBlob: Unexpected`;
  const warned = writeRefusal([missing], "field NexoBlob: Unexpected");
  expect(readRefusal(warned)).toEqual({ text, about: "form" });
  expect([about(missing), about("At toplevel: Missing", missing)]).toEqual(["form", "form"]);
  for (const other of ["Did not receive a response from the POI.", `${noKey} after the payment`]) {
    expect([about(other), about(noKey, other)]).toEqual([null, null]);
  }
  expect([readRefusal("{}"), readRefusal('{"errors":[]}'), readRefusal("ok")]).toEqual([
    null,
    null,
    null,
  ]);
});

test("a message of a wrong form is refused by the terminal's own answer, also in clear", () => {
  const ids = { saleId: "kiosk", serviceId: "K000000001", poiId: "P400Plus-275039202" };
  const refused = (ErrorCondition: string): NexoMessage => ({
    root: "SaleToPOIResponse",
    header: headerFor("Payment", "Response", ids),
    name: "PaymentResponse",
    body: {
      Response: {
        Result: "Failure",
        ErrorCondition,
        AdditionalResponse: "errors=field%20Currency%3a%20Missing&note=x",
      },
    },
  });
  const text = (condition: string) => writeMessage(refused(condition), null, Buffer.alloc(0));
  expect(readRefusal(text("MessageFormat"))).toEqual({
    text: "field Currency: Missing; x",
    about: "form",
  });
  expect([readRefusal(text("Refusal")), readRefusal(text("Busy"))]).toEqual([null, null]);
});

test("additional data are read in each of their forms", () => {
  const json = Buffer.from(JSON.stringify({ additionalData: { authCode: "7" }, message: "x" }));
  expect(readAdditional(json.toString("base64")).get("authCode")).toBe("7");
  expect(readAdditional("message=A%20B&x").get("message")).toBe("A B");
  expect(readAdditional("101 Shopper cancelled").get("message")).toBe("101 Shopper cancelled");
  expect(readAdditional(undefined).size).toBe(0);
});

test("a time stamp is read with and without its zone, and nothing else", () => {
  const at = Date.UTC(2019, 4, 8, 14, 25, 15);
  for (const zone of ["Z", "", "+00:00", ".000Z", "+0000", ".0000000+0000"]) {
    expect(timeOf(`2019-05-08T14:25:15${zone}`)).toBe(at);
  }
  expect([timeOf("yesterday"), timeOf(undefined), timeOf("2019-13-08T14:25:15Z")]).toEqual([
    null,
    null,
    null,
  ]);
});
