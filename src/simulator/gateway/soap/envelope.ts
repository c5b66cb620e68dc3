import { readXml, XmlRefused } from "../xml/read-xml.ts";
import { type XmlOutput, xml, xmlDocument } from "../xml/write-xml.ts";
import { childNamed, type XmlElement } from "../xml/xml-element.ts";

const SOAP_NAMESPACE = "http://schemas.xmlsoap.org/soap/envelope/";

/** SOAP 1.1 chapter 4.4.1. */
type FaultCode = "Client" | "Server" | "VersionMismatch" | "MustUnderstand";

/** A request that cannot be dispatched: the only case in which a SOAP fault is right. */
export class SoapFault extends Error {
  override readonly name = "SoapFault";
  readonly code: FaultCode;

  constructor(code: FaultCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The first element of the body: its name chooses the operation (document/literal wrapped). */
export function readEnvelope(body: Uint8Array): XmlElement {
  const envelope = readDocument(body);
  if (envelope.name !== "Envelope") {
    throw new SoapFault("Client", `the root element is ${envelope.name}, not a SOAP Envelope`);
  }
  if (envelope.namespace !== SOAP_NAMESPACE) {
    throw new SoapFault("VersionMismatch", "only SOAP 1.1 envelopes are read");
  }
  refuseMandatoryHeaders(childNamed(envelope, "Header"));
  const operation = childNamed(envelope, "Body")?.children[0];
  if (!operation) throw new SoapFault("Client", "the SOAP Body holds no operation element");
  return operation;
}

function readDocument(body: Uint8Array): XmlElement {
  try {
    return readXml(body);
  } catch (error) {
    if (!(error instanceof XmlRefused)) throw error;
    throw new SoapFault("Client", `the request is not readable XML: ${error.message}`, {
      cause: error,
    });
  }
}

/** SOAP 1.1 chapter 4.2.3: we know no headers, so one that must be understood is not. */
function refuseMandatoryHeaders(header: XmlElement | undefined): void {
  const demanding = header?.children.find(
    ({ attributes }) => attributes.get(`{${SOAP_NAMESPACE}}mustUnderstand`) === "1",
  );
  if (demanding) {
    throw new SoapFault("MustUnderstand", `the header ${demanding.name} is not understood`);
  }
}

/**
 * The answer of an operation. Prefixes and bare result element are fixed: real clients read them by
 * name (docs/gateway.md 2.5). `times`: a broken answer has its result more than once.
 */
export function responseEnvelope(
  operation: string,
  namespace: string,
  result: ReadonlyArray<readonly [name: string, value: string]>,
  times = 1,
): string {
  const children = result.map(([name, value]) => xml(name, value));
  const results = Array.from({ length: times }, () => xml(`${operation}Result`, children));
  return envelope([xml(`ns1:${operation}Response`, results)], {
    "xmlns:ns1": namespace,
  });
}

export function faultEnvelope(code: FaultCode, message: string): string {
  return envelope([
    xml("SOAP-ENV:Fault", [xml("faultcode", `SOAP-ENV:${code}`), xml("faultstring", message)]),
  ]);
}

function envelope(body: readonly XmlOutput[], namespaces: Record<string, string> = {}): string {
  return xmlDocument(
    xml("SOAP-ENV:Envelope", [xml("SOAP-ENV:Body", body)], {
      "xmlns:SOAP-ENV": SOAP_NAMESPACE,
      ...namespaces,
    }),
  );
}
