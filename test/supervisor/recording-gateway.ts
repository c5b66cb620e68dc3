import {
  createServer,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { XMLParser } from "fast-xml-parser";
import { onTestFinished } from "vitest";
import { freePort } from "../support/programs/installation.ts";

/** What the gateway does with one request, after it has read it. */
export type Behaviour =
  | { readonly status: number; readonly body?: string; readonly headers?: Record<string, string> }
  | "reset"
  | "hang";

interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** merchantReference of the order. */
  readonly reference: string;
}

const parser = new XMLParser({
  removeNSPrefix: true,
  parseTagValue: false,
  trimValues: false,
  htmlEntities: true,
});

/** The parameters of a recorded request, by name. */
export function parametersOf(body: string): Record<string, unknown> {
  if (body === "") return {};
  const [operation] = Object.values(parser.parse(body).Envelope.Body) as Array<{
    readonly parameters: Record<string, unknown>;
  }>;
  return operation?.parameters ?? {};
}

/** Read without the rest: queues of thousands of orders are sent. */
function referenceOf(body: string): string {
  const plain = /<(?:\w+:)?merchantReference[^>]*>([^<&]+)<\//.exec(body)?.[1];
  return plain ?? String(parametersOf(body)["merchantReference"]);
}

/** The body of an answer with a result. */
export function resultBody(code: number, description = "N/A", redirectUrl = ""): string {
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n<SOAP-ENV:Envelope ' +
    'xmlns:SOAP-ENV="http://schemas.xmlsoap.org/soap/envelope/" ' +
    'xmlns:ns1="https://ws.gateway.test/soap/payment-v2"><SOAP-ENV:Body><ns1:generateResponse>' +
    `<generateResult><redirectUrl>${redirectUrl}</redirectUrl><code>${code}</code>` +
    `<description>${description}</description></generateResult>` +
    "</ns1:generateResponse></SOAP-ENV:Body></SOAP-ENV:Envelope>"
  );
}

/**
 * The answer to confirm, cancel or card, as the public samples have it; `more` adds elements to
 * the result or, with their names, replaces them.
 */
export function operationBody(
  operation: "confirm" | "cancel" | "card",
  code: number,
  description = "N/A",
  more: Readonly<Record<string, string>> = {},
): string {
  const sum = operation === "card" && code === 0 ? { currency: "EUR", amount: "8.99" } : {};
  const named = { transactionPublicId: "5CF62325CB217655", ...sum, ...more };
  const elements = Object.entries(named).map(([name, value]) => `<${name}>${value}</${name}>`);
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n<SOAP-ENV:Envelope ' +
    'xmlns:SOAP-ENV="http://schemas.xmlsoap.org/soap/envelope/" ' +
    `xmlns:ns1="urn:x"><SOAP-ENV:Body><ns1:${operation}Response><${operation}Result>` +
    `${elements.join("")}<code>${code}</code>` +
    `<description>${description}</description></${operation}Result>` +
    `</ns1:${operation}Response></SOAP-ENV:Body></SOAP-ENV:Envelope>`
  );
}

export const accepted: Behaviour = {
  status: 200,
  body: resultBody(0, "N/A", "https://pay.gateway.test/index/ws/id/0123456789abcdef"),
};
export const refusedCredentials: Behaviour = {
  status: 200,
  body: resultBody(1, "Bad password for login 'login'"),
};
export const refusedOrder: Behaviour = { status: 200, body: resultBody(3, "amount invalid") };

/** The lookup's word that there is no order of this number; its status is 404. */
export const noOrderBody = JSON.stringify({ code: 3_000_001, message: "Unknown Order" });
export const noOrder: Behaviour = { status: 404, body: noOrderBody };

/** An HTTP server that keeps what it is sent and answers as the test says. */
export class RecordingGateway {
  readonly requests: RecordedRequest[] = [];
  /** Lookups of orders; they are no part of {@link requests}. */
  readonly lookups: RecordedRequest[] = [];
  /** Decides about each lookup of an order; may be replaced at any time. */
  lookUp: (request: RecordedRequest) => Behaviour = () => noOrder;
  /** Decides about each request; may be replaced at any time. */
  behave: (request: RecordedRequest) => Behaviour | Promise<Behaviour> = () => accepted;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Unless a port is named, on one that nobody else is given: a test may start it again there. */
  static async start(port?: number): Promise<RecordingGateway> {
    const own = port ?? (await freePort());
    const server = createServer();
    const gateway = new RecordingGateway(server);
    server.on("request", (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const body = Buffer.concat(chunks).toString("utf8");
        const reference = referenceOf(body);
        const { url = "", method = "", headers } = request;
        const recorded = { method, path: url, headers, body, reference };
        if (/^\/v3\/orders?\//.test(url)) {
          gateway.lookups.push(recorded);
          answer(gateway.lookUp(recorded), response);
          return;
        }
        gateway.requests.push(recorded);
        const behaviour = gateway.behave(recorded);
        if (behaviour instanceof Promise) void behaviour.then((one) => answer(one, response));
        else answer(behaviour, response);
      });
    });
    await new Promise<void>((resolve) => server.listen(own, "127.0.0.1", resolve));
    onTestFinished(() => gateway.stop());
    return gateway;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** References in the order in which they came. */
  get references(): string[] {
    return this.requests.map(({ reference }) => reference);
  }

  /** Ends every connection and listens no more; connections are refused from then on. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }
}

function answer(behaviour: Behaviour, response: ServerResponse): void {
  if (behaviour === "hang") return;
  if (behaviour === "reset") {
    response.socket?.resetAndDestroy();
    return;
  }
  const { status, body = "", headers = {} } = behaviour;
  response.writeHead(status, { "content-type": "text/xml; charset=utf-8", ...headers });
  response.end(body);
}
