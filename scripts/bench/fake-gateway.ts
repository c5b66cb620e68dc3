import { createServer } from "node:http";

/** A gateway without any storage, for `npm run bench`: it takes every order at once. */

const ANSWER =
  '<?xml version="1.0" encoding="UTF-8"?>\n<SOAP-ENV:Envelope ' +
  'xmlns:SOAP-ENV="http://schemas.xmlsoap.org/soap/envelope/" xmlns:ns1="urn:bench">' +
  "<SOAP-ENV:Body><ns1:generateResponse><generateResult>" +
  "<redirectUrl>https://pay.example/page/1</redirectUrl>" +
  "<code>0</code><description>N/A</description></generateResult></ns1:generateResponse>" +
  "</SOAP-ENV:Body></SOAP-ENV:Envelope>";

export interface SoapRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface FakeGateway {
  readonly url: string;
  /** The order that came last. */
  last(): SoapRequest | undefined;
  close(): void;
}

export async function startFakeGateway(onAnswer?: () => void): Promise<FakeGateway> {
  let last: SoapRequest | undefined;
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { url: path = "", headers } = incoming;
      const kept = {
        "content-type": String(headers["content-type"] ?? ""),
        soapaction: String(headers["soapaction"] ?? ""),
      };
      last = { path, headers: kept, body: Buffer.concat(chunks).toString("utf8") };
      onAnswer?.();
      response.writeHead(200, { "content-type": "text/xml", "content-length": ANSWER.length });
      response.end(ANSWER);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    last: () => last,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
