import type { Field, ListType, RecordType } from "./parameters.ts";
import type { Operation, Service } from "./services.ts";
import { type XmlOutput, xml, xmlDocument } from "./xml.ts";

type ComplexType = RecordType | ListType;

/**
 * The WSDL 1.1 description of a service at an address: SOAP 1.1, document/literal wrapped. Target
 * namespace, SOAPAction and address agree, whatever name the client reached us by.
 */
export function wsdlOf(service: Service, address: string): string {
  const { title, operations } = service;
  return xmlDocument(
    xml(
      "definitions",
      [
        xml("types", [schema(operations, address)]),
        ...operations.flatMap(({ name }) => messages(name)),
        portType(title, operations),
        binding(title, operations, address),
        xml(
          "service",
          [
            xml("port", [xml("soap:address", "", { location: address })], {
              name: `${title}Port`,
              binding: `tns:${title}Binding`,
            }),
          ],
          { name: `${title}Service` },
        ),
      ],
      {
        name: title,
        targetNamespace: address,
        xmlns: "http://schemas.xmlsoap.org/wsdl/",
        "xmlns:tns": address,
        "xmlns:soap": "http://schemas.xmlsoap.org/wsdl/soap/",
        "xmlns:xsd": "http://www.w3.org/2001/XMLSchema",
      },
    ),
  );
}

function schema(operations: readonly Operation[], address: string): XmlOutput {
  const types = new Map<string, ComplexType>();
  for (const { parameters, response } of operations) {
    collect(parameters, types);
    collect(response, types);
  }
  return xml(
    "xsd:schema",
    [
      ...[...types.values()].map(complexType),
      ...operations.flatMap(({ name, parameters, response }) => [
        wrapper(name, "parameters", parameters),
        wrapper(`${name}Response`, `${name}Result`, response),
      ]),
    ],
    { targetNamespace: address },
  );
}

/** A type stands after the types it uses. */
function collect(type: ComplexType, into: Map<string, ComplexType>): void {
  for (const used of type.kind === "list" ? [type.item] : type.fields.map((field) => field.type)) {
    if (typeof used !== "string") collect(used, into);
  }
  into.set(type.name, type);
}

function complexType(type: ComplexType): XmlOutput {
  const content =
    type.kind === "list"
      ? xml("xsd:sequence", [
          xml("xsd:element", "", {
            name: "item",
            type: `tns:${type.item.name}`,
            minOccurs: "0",
            maxOccurs: "unbounded",
          }),
        ])
      : xml("xsd:all", type.fields.filter(({ unpublished }) => !unpublished).map(fieldElement));
  return xml("xsd:complexType", [content], { name: type.name });
}

function fieldElement({ name, type, nillable }: Field): XmlOutput {
  return xml("xsd:element", "", {
    name,
    type: typeof type === "string" ? `xsd:${type}` : `tns:${type.name}`,
    ...(nillable ? { nillable: "true" } : {}),
  });
}

function wrapper(name: string, child: string, type: RecordType): XmlOutput {
  const only = xml("xsd:element", "", { name: child, type: `tns:${type.name}` });
  return xml("xsd:element", [xml("xsd:complexType", [xml("xsd:sequence", [only])])], { name });
}

function messages(operation: string): XmlOutput[] {
  const message = (suffix: string, element: string): XmlOutput =>
    xml("message", [xml("part", "", { name: "parameters", element: `tns:${element}` })], {
      name: `${operation}${suffix}`,
    });
  return [message("In", operation), message("Out", `${operation}Response`)];
}

function portType(title: string, operations: readonly Operation[]): XmlOutput {
  return xml(
    "portType",
    operations.map(({ name }) =>
      xml(
        "operation",
        [
          xml("input", "", { message: `tns:${name}In` }),
          xml("output", "", { message: `tns:${name}Out` }),
        ],
        { name },
      ),
    ),
    { name: `${title}Port` },
  );
}

function binding(title: string, operations: readonly Operation[], address: string): XmlOutput {
  const body = [xml("soap:body", "", { use: "literal" })];
  return xml(
    "binding",
    [
      xml("soap:binding", "", {
        style: "document",
        transport: "http://schemas.xmlsoap.org/soap/http",
      }),
      ...operations.map(({ name }) =>
        xml(
          "operation",
          [
            xml("soap:operation", "", { soapAction: `${address}#${name}` }),
            xml("input", body),
            xml("output", body),
          ],
          { name },
        ),
      ),
    ],
    { name: `${title}Binding`, type: `tns:${title}Port` },
  );
}
