import { readFile } from "node:fs/promises";
import type { Client, IHttpClient } from "soap";
import { assetFile } from "../../shared/version-files.ts";

export interface SoapMessage {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The text or the child elements of each element by its name; undefined: no such element. */
export interface SoapParameters {
  readonly [name: string]: string | SoapParameters | readonly SoapParameters[] | undefined;
}

/** The address that stands for GATEWAY_URL in the shipped WSDL files. */
const WSDL_ADDRESS = "https://gateway.invalid";

/**
 * Returns the writer of one SOAP service's requests, by its WSDL and the `soap` package, which is
 * loaded for the first request. http-transport.ts sends requests, because the package does not
 * report whether a request was written when the connection broke. soap-answer.ts reads answers,
 * because the package lets an answer reach Object.prototype and reads `0 nonsense` as code 0.
 */
export function createSoapWriter(service: string, gatewayUrl: string) {
  const base = gatewayBase(gatewayUrl);
  let loading: Promise<Client> | undefined;
  /** Rejects if the installation is broken, because a file or the soap package is missing. */
  return async (operation: string, parameters: SoapParameters): Promise<SoapMessage> => {
    loading ??= loadClient(service, base);
    const client = await loading;
    let message: SoapMessage | undefined;
    const take = (headers: Record<string, string>, body: string): void => {
      // Each operation has its own documented address (docs/design.md 12.14); the address in
      // the WSDL takes the same requests (docs/gateway.md 2.1).
      message = { url: `${base}/soap/${service}/${operation}`, headers, body };
    };
    await client[`${operation}Async`]({ parameters: protectCdata(parameters) }, { take });
    if (!message) throw new Error(`the package soap wrote no message for ${operation}`);
    return message;
  };
}

/** Returns GATEWAY_URL without slashes at its end. */
export function gatewayBase(gatewayUrl: string): string {
  return gatewayUrl.replace(/\/+$/, "");
}

/** An HTTP client for the soap package that sends nothing and passes the request to `take`. */
const capture: Pick<IHttpClient, "request"> = {
  request(_url, body, callback, headers, options) {
    options?.["take"](headers, body);
    callback(null, { status: 200, headers: {} }, "");
    return Promise.resolve() as never;
  },
};

async function loadClient(service: string, base: string): Promise<Client> {
  const file = assetFile(`supervisor/gateway/wsdl/${service}.wsdl`);
  const [soap, wsdl] = await Promise.all([import("soap"), readFile(file, "utf8")]);
  const address = base.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  return await soap.createClientAsync(wsdl.replaceAll(WSDL_ADDRESS, address), {
    disableCache: true,
    httpClient: capture as IHttpClient,
  });
}

/**
 * Wraps a text that begins like a CDATA section into a CDATA section; undefined: another text. The
 * package would copy that text unescaped, so that a custom value could add XML elements.
 */
export function asCdata(text: string): string | undefined {
  if (!text.startsWith("<![CDATA[")) return undefined;
  return `<![CDATA[${text.replaceAll("]]>", "]]]]><![CDATA[>")}]]>`;
}

function protectCdata<T>(value: T): T {
  if (typeof value === "string") return (asCdata(value) ?? value) as T;
  if (Array.isArray(value)) return value.map(protectCdata) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, below]) => [name, protectCdata(below)]),
  ) as T;
}
