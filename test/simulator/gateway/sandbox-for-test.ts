import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { AccountInput } from "../../../src/simulator/gateway/account.ts";
import type { SandboxOptions } from "../../../src/simulator/gateway/parts.ts";
import { startGatewaySandbox } from "../../../src/simulator/gateway/sandbox.ts";
import { childNamed, readXml, type XmlElement } from "../../../src/simulator/gateway/soap/xml.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";

/** A running sandbox. */
export type GatewaySandbox = Awaited<ReturnType<typeof startGatewaySandbox>>;

/** Credentials of the recorded requests, so that they can be replayed as they are. */
export const LOGIN = "0ca9872cc65e43f9a3519b8dd3d0f5ce";
export const PASSWORD = "f2022629d27c42ada763d7875ca11d9a";

export const account: AccountInput = {
  login: LOGIN,
  password: PASSWORD,
  websites: [{ id: 107, currency: "EUR" }],
};

/** A sandbox on a free port with a real database file; it ends with the test. */
export async function sandboxForTest(
  options: Partial<SandboxOptions> = {},
): Promise<GatewaySandbox> {
  const failures: Error[] = [];
  const sandbox = await startGatewaySandbox({
    accounts: [account],
    database: join(temporaryFolder(), "sandbox.db"),
    report: (error) => failures.push(error),
    ...options,
  });
  onTestFinished(async () => {
    await sandbox.close();
    if (failures[0]) throw failures[0];
  });
  return sandbox;
}

/** A condition that a busy machine may take its time to meet. */
export function eventually<T>(read: () => T) {
  return expect.poll(read, { interval: 10 });
}

export const orderRequest: Readonly<Record<string, string>> = {
  websiteId: "107",
  categoryId: "5",
  currency: "EUR",
  amount: "19.99",
  rating: "ALL",
  locale: "en_GB",
  customerIpAddress: "127.0.0.1",
  executionDate: "2026-07-05T03:09:26",
  manualCapture: "0",
  description: "Two tickets",
  urlCallback: "http://127.0.0.1:9/callback",
  merchantReference: "Order_12345",
  wsLogin: LOGIN,
  wsPassword: PASSWORD,
};

/** Elements of `parameters`, values already escaped. */
export function elements(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `<${name}>${value}</${name}>`)
    .join("");
}

const SOAP = "http://schemas.xmlsoap.org/soap/envelope/";

export function soapRequest(service: string, operation: string, parameters: string): string {
  return (
    `<?xml version="1.0" encoding="UTF-8"?><e:Envelope xmlns:e="${SOAP}"><e:Body>` +
    `<o:${operation} xmlns:o="http://gateway.example.test/soap/${service}">` +
    `<parameters>${parameters}</parameters></o:${operation}></e:Body></e:Envelope>`
  );
}

/** The order request as {@link generate} sends it. */
export const orderBody = soapRequest("payment-v2", "generate", elements(orderRequest));

interface Answered {
  readonly status: number;
  readonly text: string;
  /** Children of the result element by name, in their order. */
  readonly result: Readonly<Record<string, string>>;
}

export async function post(url: string, body: string, headers = {}): Promise<Answered> {
  const response = await fetch(url, {
    method: "POST",
    body,
    headers: { "content-type": "text/xml; charset=utf-8", ...headers },
  });
  const text = await response.text();
  return { status: response.status, text, result: resultOf(text) };
}

export function generate(
  { url }: { url: string },
  changes: Readonly<Record<string, string | undefined>> = {},
): Promise<Answered> {
  return call({ url }, "payment-v2", "generate", { ...orderRequest, ...changes });
}

/** Calls an operation; a parameter that is undefined is left out. */
export function call(
  { url }: { url: string },
  service: string,
  operation: string,
  parameters: Readonly<Record<string, string | undefined>>,
): Promise<Answered> {
  const sent = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const body = soapRequest(service, operation, elements(Object.fromEntries(sent)));
  return post(`${url}/soap/${service}`, body);
}

function resultOf(text: string): Record<string, string> {
  if (!text.startsWith("<?xml")) return {};
  const answer = childNamed(readXml(Buffer.from(text)), "Body")?.children[0];
  const result = answer?.children.find(({ name }) => name.endsWith("Result"));
  return Object.fromEntries((result?.children ?? []).map(({ name, text: value }) => [name, value]));
}

/** Text of a vector, or nothing where CONFORMANCE_VECTORS is not set. */
export function vector(path: string): string | undefined {
  const folder = process.env["CONFORMANCE_VECTORS"];
  const file = folder && join(folder, "gateway", path);
  return file && existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

export const haveVectors = vector("README.md") !== undefined;

/** The root element of a document. */
export function rootOf(document: string): XmlElement {
  return readXml(Buffer.from(document));
}
