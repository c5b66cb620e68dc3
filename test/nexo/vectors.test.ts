import { createCipheriv, createHmac } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type BodyName,
  bodyOf,
  minorOf,
  NexoCodecError,
  type NexoMessage,
  nexoKey,
  readAdditional,
  readCommonName,
  readMessage,
  readNotice,
  receiptLine,
  timeOf,
  writeMessage,
} from "../../src/nexo/index.ts";
import { currencyOf } from "../../src/shared/money.ts";
import {
  type CommonNameVector,
  type CryptoVector,
  filesOf,
  hasVectors,
  type KeyVector,
  rowsOf,
  vectorText,
} from "./vectors.ts";

const named = <T>(rows: readonly T[], name: (row: T) => string): Array<[string, T]> =>
  rows.map((row) => [name(row), row]);

function codeOf(action: () => unknown): string | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof NexoCodecError) return error.code;
    throw error;
  }
  return undefined;
}

interface Trailer {
  readonly KeyIdentifier: string;
  readonly KeyVersion: number;
  readonly Nonce: string;
}

const trailerOf = ({ message }: CryptoVector): Trailer =>
  Object.values(message)[0]?.["SecurityTrailer"] as Trailer;

const keyOf = (vector: CryptoVector) =>
  nexoKey(trailerOf(vector).KeyIdentifier, trailerOf(vector).KeyVersion, vector.passphrase);

/** Why each wrong message is refused; the file says only that it is. */
const refusals: Readonly<Record<string, string>> = {
  "cloud-event-unknown-key": "not-genuine",
  "neg-hmac-bit": "not-genuine",
  "neg-hmac-short": "not-genuine",
  "neg-nonce-bit": "not-genuine",
  "neg-nonce-short": "not-genuine",
  "neg-blob-bit": "not-genuine",
  "neg-blob-cut": "not-genuine",
  "neg-outer-header": "header",
};

describe.skipIf(!hasVectors)("published protected messages (CONFORMANCE_VECTORS)", () => {
  const all = rowsOf<CryptoVector>("crypto.json");
  const good = all.filter((vector) => vector.expect === "ok");
  const wrong = all.filter((vector) => vector.expect === "refuse");

  test("every wrong message has its reason here", () => {
    expect(wrong.map(({ id }) => id).sort()).toEqual(Object.keys(refusals).sort());
    expect(good.length).toBe(all.length - wrong.length);
  });

  test.each(named(good, ({ id }) => id))("%s is read", (_id, vector) => {
    const message = readMessage(JSON.stringify(vector.message), keyOf(vector));
    const [inner] = Object.values(
      JSON.parse(vector.plaintext ?? "") as Record<string, Record<string, unknown>>,
    );
    expect(Buffer.byteLength(vector.plaintext ?? "")).toBe(vector.plaintextBytes);
    expect(message.header).toEqual(inner?.["MessageHeader"]);
    expect(inner).toHaveProperty(message.name);
    const name = message.name as BodyName;
    expect(bodyOf(message, name)).toBeTypeOf("object");
  });

  test.each(named(good, ({ id }) => id))(
    "%s is written with the same protection",
    (_id, vector) => {
      const key = keyOf(vector);
      const message = readMessage(JSON.stringify(vector.message), key);
      const nonce = Buffer.from(trailerOf(vector).Nonce, "base64");
      expect(readMessage(writeMessage(message, key, nonce), key)).toEqual(message);
      // The terminal wrote the members in another order, so its own text is protected here.
      const stringify = vi.spyOn(JSON, "stringify").mockReturnValueOnce(vector.plaintext ?? "");
      onTestFinished(() => void stringify.mockRestore());
      const again = JSON.parse(writeMessage(message, key, nonce)) as CryptoVector["message"];
      const [members, published] = [again, vector.message].map((one) => Object.values(one)[0]);
      expect(members?.["SecurityTrailer"]).toEqual(published?.["SecurityTrailer"]);
      expect(members?.["NexoBlob"]).toBe(String(published?.["NexoBlob"]).replace(/\s/g, ""));
    },
  );

  test("recorded notifications are read, protected and in clear", () => {
    const vector = good.find(({ id }) => id === "event-notification-salewakeup") as CryptoVector;
    const event = readMessage(JSON.stringify(vector.message), keyOf(vector));
    expect(readNotice(event)).toMatchObject({ about: "terminal", event: "SaleWakeUp" });
    const display = readMessage(vectorText("messages/display-notification.json"), null);
    expect(readNotice(display)).toEqual({
      about: "payment",
      event: "TENDER_CREATED",
      header: expect.objectContaining({ ServiceID: "0207111617", SaleID: "POSSystemID12345" }),
      tender: "oLkO001517998574000",
    });
    const reject = vectorText("messages/reject-event-in-place-of-response.json");
    expect(readNotice(readMessage(reject, null))).toMatchObject({ event: "Reject" });
    const body = JSON.parse(vectorText("messages/event-notification-body.json")) as object;
    const named = {
      ...event,
      body: (body as Record<string, unknown>)["EventNotification"] ?? body,
    };
    expect(readNotice(named)).toMatchObject({ about: "terminal", event: "BeginMaintenance" });
    expect(readNotice({ ...event, root: "SaleToPOIResponse" })).toBeNull();
  });

  test.each(named(wrong, ({ id }) => id))("%s is refused", (id, vector) => {
    const text = JSON.stringify(vector.message);
    for (const { passphrase } of [vector, ...good]) {
      const key = keyOf({ ...vector, passphrase });
      const isRight = passphrase === vector.passphrase;
      expect(codeOf(() => readMessage(text, key))).toBe(isRight ? refusals[id] : "not-genuine");
    }
  });
});

describe.skipIf(!hasVectors)("published keys (CONFORMANCE_VECTORS)", () => {
  const vectors = rowsOf<KeyVector>("keys.json");

  test.each(named(vectors, ({ passphrase }) => passphrase))("%s", (passphrase, vector) => {
    const { hmacKey, cipherKey, iv } = vector;
    if (!hmacKey) {
      // Implementations derive two different keys from it, so it is not taken.
      expect(vector.utf8).toBeDefined();
      expect(codeOf(() => nexoKey("id", 1, passphrase))).toBe("passphrase");
      return;
    }
    const key = nexoKey("id", 1, passphrase);
    const hex = [key.hmacKey, key.cipherKey, key.iv].map((bytes) => bytes.toString("hex"));
    expect(hex).toEqual([hmacKey, cipherKey, iv]);
  });

  test("the platform's cipher and code of authenticity are those of the protocol", () => {
    const { primitives } = JSON.parse(vectorText("keys.json")) as {
      primitives: Array<Record<string, string>>;
    };
    const [aes = {}, mac = {}] = primitives;
    const bytes = (text = ""): Buffer => Buffer.from(text, "base64");
    const cipher = createCipheriv("aes-256-cbc", bytes(aes["key"]), bytes(aes["iv"]));
    const text = cipher.update(aes["plaintext"] ?? "", "utf8", "base64") + cipher.final("base64");
    expect(text).toBe(aes["ciphertext"]);
    const hmac = createHmac("sha256", mac["keyText"] ?? "").update(mac["message"] ?? "");
    expect(hmac.digest("base64")).toBe(mac["mac"]);
  });
});

describe.skipIf(!hasVectors)("published names of certificates (CONFORMANCE_VECTORS)", () => {
  const vectors = rowsOf<CommonNameVector>("common-names.json");

  test.each(named(vectors, ({ cn }) => cn))("%s", (cn, { node, java_test, java_live }) => {
    const accepted = (["test", "live"] as const).map((one) => readCommonName(cn, one) !== null);
    expect(accepted).toEqual([java_test, java_live]);
    if (accepted.includes(true)) expect(node).toBe(true);
  });
});

/** Reads a file of a message, or of the body of one, in clear. */
function messageIn(file: string): NexoMessage {
  const text = vectorText(file);
  const [, category] = /(\w+)-(\w+)-body\.json$/.exec(file) ?? [];
  if (category === undefined) return readMessage(text, null);
  const parsed = JSON.parse(text) as Record<string, unknown>;
  if (parsed["MessageHeader"])
    return readMessage(JSON.stringify({ SaleToPOIResponse: parsed }), null);
  const header = { MessageHeader: { MessageClass: "x", MessageCategory: "x", MessageType: "x" } };
  const name = bodyNames[file] ?? "";
  return readMessage(JSON.stringify({ SaleToPOIRequest: { ...header, [name]: parsed } }), null);
}

const bodyNames: Readonly<Record<string, string>> = {
  "messages/abort-request-body.json": "AbortRequest",
  "messages/event-notification-body.json": "EventNotification",
  "messages/login-request-body.json": "LoginRequest",
};

/** Categories of which this dialect needs no body. */
const unread = ["CardAcquisitionResponse", "InputResponse", "DisplayResponse"];

describe.skipIf(!hasVectors)("published messages in clear (CONFORMANCE_VECTORS)", () => {
  const files = [...filesOf("messages"), ...filesOf("mock-terminal")];
  const bodiless = "messages/payment-response-no-security-trailer.json";

  test.each(files.filter((file) => file !== bodiless))("%s is read", (file) => {
    const message = messageIn(file);
    if (unread.includes(message.name)) return;
    expect(bodyOf(message, message.name as BodyName)).toBeTypeOf("object");
    // Where a key is set, no message in clear is read, whatever it says.
    const key = nexoKey("id", 1, "phrase");
    const clear = writeMessage(message, null, Buffer.alloc(0));
    expect(codeOf(() => readMessage(clear, key))).toBe("clear");
  });

  test("a message without a body is refused", () => {
    expect(codeOf(() => readMessage(vectorText(bodiless), null))).toBe("shape");
  });

  test("an event in place of an answer is no answer", () => {
    const message = messageIn("messages/reject-event-in-place-of-response.json");
    expect(codeOf(() => bodyOf(message, "PaymentResponse"))).toBe("shape");
    expect(bodyOf(message, "EventNotification").EventToNotify).toBe("Reject");
  });

  test("amount, ids, card and receipt of an approval", () => {
    const body = bodyOf(messageIn("messages/payment-response-java-sync.json"), "PaymentResponse");
    const { AmountsResp, PaymentInstrumentData } = body.PaymentResult ?? {};
    expect(minorOf(AmountsResp?.AuthorizedAmount, currencyOf("EUR"))).toBe(100);
    expect(PaymentInstrumentData?.CardData?.MaskedPan).toBe("411111 **** 1111");
    expect(JSON.stringify(body)).not.toContain("1225");
    const id = body.POIData?.POITransactionID;
    expect(id?.TransactionID).toBe("4r7i001556529591000.8515565295894301");
    expect(timeOf(id?.TimeStamp)).toBe(Date.UTC(2019, 3, 29));
    const lines = body.PaymentReceipt?.[1]?.OutputContent?.OutputText?.map((line) =>
      receiptLine(line?.Text ?? ""),
    );
    expect(lines).toContain("Date 29/04/19");
    expect(lines).toContain("");
    expect(readAdditional(body.Response.AdditionalResponse).get("authCode")).toBe("123456");
  });

  test("the answer to a question by id holds the original answer", () => {
    const file = "messages/transaction-status-response-payment.json";
    const body = bodyOf(messageIn(file), "TransactionStatusResponse");
    expect(body.MessageReference?.ServiceID).toBe("05140342");
    const { RepeatedResponseMessageBody } = body.RepeatedMessageResponse ?? {};
    const inner = RepeatedResponseMessageBody?.PaymentResponse;
    expect(inner?.SaleData?.SaleTransactionID?.TransactionID).toBe("0000060001078117");
  });
});
