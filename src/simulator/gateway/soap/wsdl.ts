import type { Field, ListType, RecordType } from "./parameters.ts";
import type { Service } from "./services.ts";

type ComplexType = RecordType | ListType;

/**
 * Returns the WSDL 1.1 description of a service: SOAP 1.1, document/literal wrapped. `address`, by
 * which the client reached the service, is also the target namespace. Names are not escaped,
 * because none has a special character of XML.
 */
export function wsdlOf({ title, operations }: Service, address: string): string {
  const body = '<soap:body use="literal"/>';
  const each = (write: (operation: string) => string): string =>
    operations.map(({ name }) => write(name)).join("");
  return [
    '<?xml version="1.0" encoding="UTF-8"?>\n',
    `<definitions name="${title}" targetNamespace="${address}"`,
    ` xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:tns="${address}"`,
    ' xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/"',
    ' xmlns:xsd="http://www.w3.org/2001/XMLSchema">',
    `<types><xsd:schema targetNamespace="${address}">`,
    ...typesOf(operations.flatMap(({ parameters, response }) => [parameters, response])),
    ...operations.map(
      ({ name, parameters, response }) =>
        wrapper(name, "parameters", parameters) +
        wrapper(`${name}Response`, `${name}Result`, response),
    ),
    "</xsd:schema></types>",
    each((name) => message(`${name}In`, name) + message(`${name}Out`, `${name}Response`)),
    `<portType name="${title}Port">`,
    each(
      (name) =>
        `<operation name="${name}"><input message="tns:${name}In"/>` +
        `<output message="tns:${name}Out"/></operation>`,
    ),
    `</portType><binding name="${title}Binding" type="tns:${title}Port">`,
    '<soap:binding style="document" transport="http://schemas.xmlsoap.org/soap/http"/>',
    each(
      (name) =>
        `<operation name="${name}"><soap:operation soapAction="${address}#${name}"/>` +
        `<input>${body}</input><output>${body}</output></operation>`,
    ),
    `</binding><service name="${title}Service">`,
    `<port name="${title}Port" binding="tns:${title}Binding">`,
    `<soap:address location="${address}"/></port></service></definitions>`,
  ].join("");
}

/** Returns the definition of each type once, after the definitions of the types of its fields. */
function typesOf(types: readonly ComplexType[]): ReadonlySet<string> {
  return new Set(
    types.flatMap((type) => {
      const used = type.kind === "list" ? [type.item] : type.fields.map((field) => field.type);
      return [...typesOf(used.filter((one) => typeof one !== "string")), complexType(type)];
    }),
  );
}

function complexType(type: ComplexType): string {
  const content =
    type.kind === "list"
      ? `<xsd:sequence><xsd:element name="item" type="tns:${type.item.name}" minOccurs="0" ` +
        'maxOccurs="unbounded"/></xsd:sequence>'
      : `<xsd:all>${type.fields.map(fieldElement).join("")}</xsd:all>`;
  return `<xsd:complexType name="${type.name}">${content}</xsd:complexType>`;
}

function fieldElement({ name, type, nillable, unpublished }: Field): string {
  if (unpublished) return "";
  const typeName = typeof type === "string" ? `xsd:${type}` : `tns:${type.name}`;
  return `<xsd:element name="${name}" type="${typeName}"${nillable ? ' nillable="true"' : ""}/>`;
}

function wrapper(name: string, child: string, type: RecordType): string {
  return (
    `<xsd:element name="${name}"><xsd:complexType><xsd:sequence>` +
    `<xsd:element name="${child}" type="tns:${type.name}"/>` +
    "</xsd:sequence></xsd:complexType></xsd:element>"
  );
}

function message(name: string, element: string): string {
  return `<message name="${name}"><part name="parameters" element="tns:${element}"/></message>`;
}
