import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { NexoTerminal } from "../../src/simulator/terminal/nexo/machine/terminal.ts";
import { nexoProtocol } from "../../src/simulator/terminal/nexo/nexo-protocol.ts";
import type { NexoOptions } from "../../src/simulator/terminal/nexo/options.ts";
import { completed } from "../../src/simulator/terminal/options.ts";
import {
  openTerminal,
  type TerminalSimulator,
} from "../../src/simulator/terminal/terminal-simulator.ts";
import { PATIENCE_MS } from "../support/clocks/patience.ts";
import { steppedClock } from "../support/clocks/stepped-clock.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { until } from "../support/programs/child-program.ts";

/** Where npm has installed the client library of the terminals' maker. */
const folder = process.env["NEXO_CLIENT_LIBRARY"];

type Api = new (
  client: object,
) => { request(message: object, key: object): Promise<{ SaleToPOIResponse?: unknown }> };
interface Library {
  readonly Client: new (config: object) => object;
  readonly Config: new (options: object) => object;
  readonly TerminalLocalAPI: Api;
}
const LIBRARY = "@adyen/api-library";
const load = createRequire(join(folder ?? "/", "package.json"));

const ourKey = {
  Passphrase: "simulated terminal",
  KeyIdentifier: "simulator",
  KeyVersion: 1,
  AdyenCryptoVersion: 1,
};

async function started(behaviour: Partial<NexoOptions["behaviour"]> = {}) {
  const pace = { customerMs: 0, hostMs: 0, walkAwayMs: 0 };
  const given = { tcp: { host: "127.0.0.1", port: 0 }, pace, behaviour };
  const at = await openTerminal(
    nexoProtocol,
    completed(nexoProtocol.defaults, steppedClock, given),
  );
  onTestFinished(() => at.close());
  return { at, ask: register(at) };
}

/** A register that writes, protects, sends and reads with the library alone; no key: in clear. */
function register(
  { terminal, endpoints }: TerminalSimulator<NexoOptions, NexoTerminal>,
  key: object | null = ourKey,
  ms?: number,
) {
  const { Client, Config, TerminalLocalAPI } = load(LIBRARY) as Library;
  const certificatePath = join(temporaryFolder(), "root.pem");
  writeFileSync(certificatePath, terminal.rootCertificate);
  const config = new Config({
    environment: "TEST",
    apiKey: "any",
    // The library appends the maker's port and path; what follows `#` is not sent.
    terminalApiLocalEndpoint: `https://127.0.0.1:${endpoints.tcp?.port}/nexo/#`,
    certificatePath,
    connectionTimeoutMillis: ms ?? PATIENCE_MS,
  });
  const InClear = (): Api =>
    load(`${LIBRARY}/lib/src/services/terminalLocalAPIUnencrypted`).default;
  const api = new (key === null ? InClear() : TerminalLocalAPI)(new Client(config));
  return async (category: string, ServiceID: string, body: object) => {
    const MessageHeader = {
      ProtocolVersion: "3.0",
      MessageClass: "Service",
      MessageCategory: category,
      MessageType: "Request",
      SaleID: "register",
      ServiceID,
      POIID: terminal.parts.poiId,
    };
    const message = { SaleToPOIRequest: { MessageHeader, [`${category}Request`]: body } };
    const answer = await api.request(message, key ?? {});
    const members = answer.SaleToPOIResponse as Record<string, unknown> | undefined;
    return members?.[`${category}Response`];
  };
}

const payment = (RequestedAmount = 12) => ({
  SaleData: {
    SaleTransactionID: { TransactionID: "T-1", TimeStamp: new Date(0) },
    SaleToAcquirerData: "tenderOption=ReceiptHandler",
  },
  PaymentTransaction: { AmountsReq: { Currency: "EUR", RequestedAmount } },
});
const about = (ServiceID: string, MessageCategory = "Payment") => ({
  MessageReference: { MessageCategory, SaleID: "register", ServiceID },
});
const failure = (ErrorCondition: string) => ({ Response: { Result: "Failure", ErrorCondition } });
const approved = {
  Response: { Result: "Success" },
  PaymentResult: { AmountsResp: { AuthorizedAmount: 12, Currency: "EUR" } },
};
const repeats = (name: string, body: object) => ({
  Response: { Result: "Success" },
  RepeatedMessageResponse: { RepeatedResponseMessageBody: { [name]: body } },
});
const paymentOf = (made: unknown) =>
  made as { readonly POIData: { readonly POITransactionID: object } };

describe.skipIf(!folder)(
  "the maker's client for Node at our terminal (NEXO_CLIENT_LIBRARY)",
  () => {
    test("pays, asks by id and gives back", async () => {
      const { at, ask } = await started();
      const diagnosis = await ask("Diagnosis", "D1", { HostDiagnosisFlag: false });
      expect(diagnosis).toMatchObject({ POIStatus: { GlobalStatus: "OK" } });
      const paid = await ask("Payment", "P1", payment());
      expect(paid).toMatchObject(approved);
      expect(await ask("Payment", "P2", payment(1.24))).toMatchObject(failure("Refusal"));
      await expect(ask("Payment", "P1", payment())).rejects.toThrow("used before");
      const status = await ask("TransactionStatus", "S1", about("P1"));
      expect(status).toMatchObject(repeats("PaymentResponse", paid as object));
      const unknown = await ask("TransactionStatus", "S2", about("P3"));
      expect(unknown).toMatchObject(failure("NotFound"));
      const { POITransactionID } = paymentOf(paid).POIData;
      const reversal = {
        OriginalPOITransaction: { POITransactionID },
        ReversalReason: "MerchantCancel",
      };
      const received = await ask("Reversal", "R1", reversal);
      expect(received).toMatchObject({ Response: { Result: "Success" } });
      const asked = await ask("TransactionStatus", "S3", about("R1", "Reversal"));
      expect(asked).toMatchObject(repeats("ReversalResponse", received as object));
      expect(await ask("Reversal", "R2", reversal)).toMatchObject(failure("NotAllowed"));
      expect(at.ledger.charged).toBe(0);
    });

    test("ends a payment that waits for a card", async () => {
      const { at, ask } = await started();
      at.arm("hold:at=card");
      const first = ask("Payment", "P1", payment());
      await until("the payment runs", () => at.terminal.running);
      expect(await ask("Payment", "P2", payment())).toMatchObject(failure("Busy"));
      const status = await ask("TransactionStatus", "S1", about("P1"));
      expect(status).toMatchObject(failure("InProgress"));
      expect(await ask("Abort", "A1", { ...about("P1"), AbortReason: "Abort" })).toBeUndefined();
      at.terminal.parts.release();
      expect(await first).toMatchObject(failure("Aborted"));
      expect(at.ledger.charged).toBe(0);
    });

    test("finds a payment whose answer it lost, or for which it did not wait", async () => {
      const { at, ask } = await started();
      at.arm("lost-answer");
      await expect(ask("Payment", "P1", payment())).rejects.toThrow("socket hang up");
      at.arm("hold:at=charged");
      await expect(register(at, ourKey, 50)("Payment", "P2", payment())).rejects.toThrow("hang up");
      await until("the card is charged", () => at.ledger.charged === 2_400 || undefined);
      at.terminal.parts.release();
      for (const id of ["P1", "P2"]) {
        const status = await ask("TransactionStatus", `S${id}`, about(id));
        expect(status).toMatchObject(repeats("PaymentResponse", approved));
      }
    });

    test.each<[string, object | null, string]>([
      ["another passphrase", { ...ourKey, Passphrase: "another" }, "crypto error"],
      ["another key", { ...ourKey, KeyVersion: 2 }, "crypto error"],
      ["no key", null, "NexoBlob: Missing"],
    ])("reads why a request with %s is refused", async (_what, key, text) => {
      const { at } = await started();
      await expect(register(at, key)("Payment", "P1", payment())).rejects.toThrow(text);
      expect(at.ledger.charged).toBe(0);
    });

    test.each(["clear-answer", "wrong-key", "changed", "cut-answer", "no-body", "reject-event"])(
      "believes no answer with the fault %s",
      async (fault) => {
        const { at, ask } = await started();
        at.arm(fault);
        await expect(ask("Payment", "P1", payment())).rejects.toThrow();
        expect(at.ledger.charged).toBe(1_200);
      },
    );

    // Our driver refuses both of these (docs/nexo.md 2.2 and 3.2).
    test("compares neither the header outside nor the environment of the certificate", async () => {
      const { at, ask } = await started({ certificate: "other-environment" });
      at.arm("other-header");
      expect(await ask("Payment", "P1", payment())).toMatchObject(approved);
    });

    test.each([
      ["other-name", "verify certificate"],
      ["expired", "expired"],
    ] as const)("refuses a certificate of the kind %s", async (certificate, text) => {
      const { ask } = await started({ certificate });
      await expect(ask("Diagnosis", "D1", {})).rejects.toThrow(text);
    });

    test("pays in clear at a terminal without a key", async () => {
      const { at, ask: protectedAsk } = await started({ passphrase: null, certificate: "legacy" });
      const ask = register(at, null);
      expect(await ask("Payment", "P1", payment())).toMatchObject(approved);
      await expect(protectedAsk("Payment", "P2", payment())).rejects.toThrow("Missing");
    });
  },
);
