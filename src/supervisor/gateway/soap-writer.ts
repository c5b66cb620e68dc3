import { readFile } from "node:fs/promises";
import type { Client, IHttpClient } from "soap";
import { assetFile } from "../../shared/version-files.ts";

/** A SOAP request, ready to be posted. */
export interface SoapMessage {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Element name to text, or to the elements below it; an element is left out when undefined. */
export interface SoapParameters {
  readonly [name: string]: string | SoapParameters | readonly SoapParameters[] | undefined;
}

interface SoapWriter {
  /** Rejects when the installation is broken: a file or the package is missing. */
  write(operation: string, parameters: SoapParameters): Promise<SoapMessage>;
}

/** The address that stands for GATEWAY_URL in the shipped WSDL files. */
export const WSDL_ADDRESS = "https://gateway.invalid";

/**
 * Writes the requests of one service as its WSDL says, with the `soap` package, which is loaded for
 * the first of them; orders are written from a template (order-writer.ts). The package only writes:
 * its HTTP client does not say whether a request was written when the connection broke, and its
 * reader lets an answer reach Object.prototype (an element with the id `__proto__`) and reads
 * `0 nonsense` as code 0. Requests go out through http-transport.ts, answers are read by
 * soap-answer.ts.
 */
export function createSoapWriter(service: string, gatewayUrl: string): SoapWriter {
  const base = gatewayBase(gatewayUrl);
  let loading: Promise<Client> | undefined;
  return {
    async write(operation, parameters) {
      loading ??= loadClient(service, base);
      const client = await loading;
      let message: SoapMessage | undefined;
      const take = (headers: Record<string, string>, body: string): void => {
        // The documented address of an operation (docs/design.md 12.14); the service address of a
        // WSDL takes the same requests (docs/gateway.md 2.1).
        message = { url: `${base}/soap/${service}/${operation}`, headers, body };
      };
      await client[`${operation}Async`]({ parameters: protectCdata(parameters) }, { take });
      if (!message) throw new Error(`the soap package wrote nothing for ${operation}`);
      return message;
    },
  };
}

/** GATEWAY_URL without slashes at its end. */
export function gatewayBase(gatewayUrl: string): string {
  return gatewayUrl.replace(/\/+$/, "");
}

/**
 * An HTTP client that posts nothing: the request goes to the caller, an empty answer to the
 * package.
 */
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
 * The package copies a text that looks like a CDATA section into the request as it is, so a custom
 * value could close it and add elements of its own. Such a text goes into a section made here;
 * undefined for any other text.
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
