import { expect, test } from "vitest";
import { type NexoMessage, writePairs } from "../../../../src/nexo/index.ts";
import { fakeTerminal } from "./fake.ts";
import { paid } from "./started.ts";

/* What the driver makes of answers that no simulated terminal gives. */

const card = "4111111111111111";
const secret = `${card} ${"long ".repeat(1_000)}`;

const bodyFor = (name: string, body: object) => (asked: NexoMessage) => ({
  root: "SaleToPOIResponse" as const,
  header: { ...asked.header, MessageType: "Response" },
  name,
  body,
});

test("no text of a terminal is stored with a card number, or as long as it came", async () => {
  const names = ["message", "authCode", "tid", "AID", "pspReference"];
  const pairs = writePairs(Object.fromEntries(names.map((name) => [name, secret])));
  const body = {
    Response: { Result: "Success", AdditionalResponse: pairs },
    POIData: { POITransactionID: { TransactionID: card, TimeStamp: secret } },
    PaymentResult: {
      AmountsResp: { Currency: "EUR", AuthorizedAmount: 12 },
      PaymentAcquirerData: { MerchantID: secret },
      PaymentInstrumentData: {
        CardData: { PaymentBrand: secret, MaskedPan: card, EntryMode: [secret] },
      },
    },
  };
  const failed = { Response: { ...body.Response, Result: "Failure", ErrorCondition: secret } };
  for (const answer of [body, failed]) {
    const { driver } = await fakeTerminal(bodyFor("PaymentResponse", answer));
    const { end, report } = await paid(driver);
    expect(report).toMatchObject({ good: answer === body, receiptNumber: null });
    const stored = JSON.stringify({ end, report });
    expect(stored).not.toContain(card);
    expect(stored.length).toBeLessThan(5_000);
  }
});

test("a real terminal's id of a transaction stays as it came", async () => {
  const id = { TransactionID: "4r7i001557325515012.8815573255107661" };
  const stamp = { TimeStamp: "2019-05-08T14:25:15.000Z" };
  const answer = bodyFor("PaymentResponse", {
    Response: { Result: "Success" },
    POIData: { POITransactionID: { ...id, ...stamp } },
    PaymentResult: { AmountsResp: { Currency: "EUR", AuthorizedAmount: 12 } },
  });
  const { driver } = await fakeTerminal(answer);
  const { report } = await paid(driver);
  expect(report).toMatchObject({ receiptNumber: id.TransactionID, namedAt: stamp.TimeStamp });
});
