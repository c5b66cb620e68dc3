import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import {
  type NexoMessage,
  NONCE_BYTES,
  nexoKey,
  readMessage,
  writeMessage,
} from "../../../../src/nexo/index.ts";
import { readText } from "../../../../src/shared/process/node-http.ts";
import type { Clock } from "../../../../src/shared/time.ts";
import { certified } from "../../../../src/simulator/certificates.ts";
import type { NexoOptions } from "../../../../src/tp-manager/terminal/nexo/nexo-options.ts";
import { NexoTerminal } from "../../../../src/tp-manager/terminal/nexo/nexo-terminal.ts";
import { steppedClock } from "../../../support/clocks/stepped-clock.ts";
import { recordingLog } from "../../../support/house/recording-log.ts";

export const key = nexoKey("CryptoKeyIdentifier12345", 1, "p@ssw0rd123456");
const serialNumber = "275039202";
export const poiId = `P400Plus-${serialNumber}`;

type Answer =
  | NexoMessage
  /** What comes in place of a message, with the HTTP status 400 or another one. */
  | string
  | { readonly status: number; readonly text: string }
  /** Answers by itself, or not at all. */
  | ((response: ServerResponse) => void);

/** A terminal that answers as the test says, and a driver that asks it. */
export async function fakeTerminal(
  answerTo: (message: NexoMessage, number: number) => Answer,
  clock: Clock = steppedClock,
  changes: Partial<NexoOptions> = {},
) {
  const [fromMs, toMs] = [Date.now() - 1e6, Date.now() + 1e9];
  const root = certified({ commonName: "root", isAuthority: true, fromMs, toMs });
  const commonName = `${poiId}.test.terminal.adyen.com`;
  const own = certified({ commonName, fromMs, toMs }, root);
  const asked: NexoMessage[] = [];
  const used = changes.key === undefined ? key : changes.key;
  const server = createServer({ key: own.key, cert: own.cert }, async (request, response) => {
    const text = await readText(request, 1_000_000);
    const message = readMessage(text ?? "", used);
    const answer = answerTo(message, asked.length);
    asked.push(message);
    if (typeof answer === "function") answer(response);
    else if (typeof answer === "string" || "status" in answer) {
      const { status, text: own } =
        typeof answer === "string" ? { status: 400, text: answer } : answer;
      response.statusCode = status;
      response.end(own);
    } else response.end(writeMessage(answer, used, randomBytes(NONCE_BYTES)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const options: NexoOptions = {
    address: {
      host: "127.0.0.1",
      port: (server.address() as AddressInfo).port,
      roots: [root.cert],
      environment: "test",
      serialNumber,
    },
    saleId: "kiosk",
    poiId,
    key,
    paymentLimitMs: 5_000,
    busyWaitMs: 0,
    pollMs: 5_000,
    reconnectMs: 5_000,
    ...changes,
  };
  const { log, lines } = recordingLog();
  const driver = new NexoTerminal({ options, clock, log });
  onTestFinished(() => driver.close());
  return { driver, asked, lines };
}
