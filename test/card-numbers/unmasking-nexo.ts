import { createServer } from "node:https";
import { type NexoMessage, readMessage, writeMessage, writePairs } from "../../src/nexo/index.ts";
import { readText } from "../../src/shared/process/node-http.ts";
import { certified } from "../../src/simulator/certificates.ts";

const DAY_MS = 24 * 3_600_000;
const REQUEST_BYTES_MAX = 1_000_000;

/**
 * A nexo terminal in clear that writes a card number into every text that it sends. `root` is its
 * root certificate in PEM form.
 */
export async function unmaskingNexo(port: number, poiId: string, pan: string) {
  const during = { fromMs: Date.now() - DAY_MS, toMs: Date.now() + DAY_MS };
  const root = certified({ commonName: "root", isAuthority: true, ...during });
  const own = certified({ commonName: `${poiId}.test.terminal.adyen.com`, ...during }, root);
  let unmasked = 0;
  const server = createServer({ key: own.key, cert: own.cert }, async (request, response) => {
    const asked = readMessage((await readText(request, REQUEST_BYTES_MAX)) ?? "", null);
    const body = bodies[asked.name]?.(asked, pan);
    if (!body) {
      unmasked += 1;
      response.writeHead(400).end(JSON.stringify({ errors: [`card ${pan} is not known`] }));
      return;
    }
    if (asked.name === "PaymentRequest") unmasked += 1;
    const { header } = asked;
    const name = asked.name.replace("Request", "Response");
    const root = "SaleToPOIResponse" as const;
    const answer = { root, header: { ...header, MessageType: "Response" }, name, body };
    response.end(writeMessage(answer, null, Buffer.alloc(0)));
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { root: root.cert, unmasked: () => unmasked, close };
}

const bodies: Readonly<Record<string, (asked: NexoMessage, pan: string) => object>> = {
  DiagnosisRequest: () => ({ Response: { Result: "Success" }, POIStatus: { GlobalStatus: "OK" } }),
  PaymentRequest: (asked, pan) => {
    const { SaleData, PaymentTransaction } = asked.body as {
      SaleData: object;
      PaymentTransaction: { AmountsReq: { Currency: string; RequestedAmount: string } };
    };
    const { Currency, RequestedAmount } = PaymentTransaction.AmountsReq;
    const names = ["message", "authCode", "tid", "AID", "pspReference", "cardScheme"];
    const texts = Object.fromEntries(names.map((name) => [name, `card ${pan}`]));
    const line = { Text: writePairs({ name: "Card", value: pan, key: "pan" }) };
    return {
      Response: { Result: "Success", AdditionalResponse: writePairs(texts) },
      SaleData,
      POIData: {
        POITransactionID: { TransactionID: "sim.S1", TimeStamp: new Date().toISOString() },
      },
      PaymentResult: {
        AmountsResp: { Currency, AuthorizedAmount: Number(RequestedAmount) },
        PaymentAcquirerData: { MerchantID: pan, ApprovalCode: pan },
        PaymentInstrumentData: {
          CardData: { PaymentBrand: `mc ${pan}`, MaskedPan: pan, EntryMode: [pan] },
        },
      },
      PaymentReceipt: [
        { DocumentQualifier: "CustomerReceipt", OutputContent: { OutputText: [line] } },
      ],
    };
  },
};
