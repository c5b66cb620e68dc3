import {
  credentialFields,
  currencyCode,
  email,
  emails,
  executionDate,
  type Field,
  ipAddress,
  list,
  locale,
  oneOf,
  type RecordType,
  record,
  secureAddress,
  webAddress,
} from "./parameters.ts";

/** Returns a field for each name, with the same type and rules. */
const each = <F extends Omit<Field, "name">>(field: F, ...names: readonly string[]) =>
  names.map((name) => ({ name, ...field }));

const string = { type: "string" } as const;
const float = { type: "float" } as const;
const int = { type: "int" } as const;
const text = { type: "string", nillable: true } as const;
const number = { type: "int", nillable: true } as const;
const text255 = { ...text, lengthMax: 255 } as const;
const address = { ...text255, rule: webAddress } as const;

const freeData = list(
  "ArrayOfDatawrapper",
  record("DataWrapper", [
    { name: "key", type: "string", mandatory: true },
    { name: "value", type: "string", mandatory: true, mayBeEmpty: true },
  ]),
);

const affiliates = list(
  "ArrayOfAffiliateparameters",
  record("AffiliateParameters", [
    { name: "name", ...string },
    { name: "hipayAccountId", ...int },
    { name: "amount", ...string },
  ]),
);

const taxes = list(
  "ArrayOfTaxeparameters",
  record("TaxeParameters", [
    { name: "label", ...string },
    { name: "amount", ...float },
  ]),
);

const items = list(
  "ArrayOfItemparameters",
  record("ItemParameters", [
    { name: "name", ...string },
    { name: "type", ...int, rule: oneOf("1", "2", "3", "4") },
    { name: "infos", ...string },
    { name: "amount", ...float },
    { name: "quantity", ...int },
    { name: "reference", ...string },
    { name: "taxes", type: taxes, nillable: true },
  ]),
);

const customer = each(number, "accountChange", "openingAccountDate", "passwordChange");
const purchase = [
  ...each(number, "count", "cardStored24h"),
  ...each(number, "paymentAttempts24h", "paymentAttempts1y"),
];
const shipping = each(number, "shippingUsedDate", "nameIndicator", "suspiciousActivity");
const accountInfo = record("AccountInfo", [
  { name: "customer", type: record("Customer", customer), nillable: true },
  { name: "purchase", type: record("Purchase", purchase), nillable: true },
  { name: "shipping", type: record("Shipping", shipping), nillable: true },
]);

const merchantRiskStatement = record("MerchantRiskStatement", [
  { name: "emailDeliveryAddress", ...text },
  ...each(number, "deliveryTimeFrame", "purchaseIndicator", "preOrderDate"),
  ...each(number, "reorderIndicator", "shippingIndicator"),
]);

const currency = { ...text, lengthMax: 3, rule: currencyCode } as const;
const rating = oneOf("+12", "+16", "+18", "ALL");

/** The parameters of an order request (docs/design.md 12.10; docs/gateway.md 2.2). */
const paymentParameters = record("PaymentParameters", [
  ...each({ type: "int", mandatory: true, lengthMax: 11 }, "websiteId", "categoryId"),
  { name: "subscriptionId", ...text },
  { name: "currency", ...string, mandatory: true, lengthMax: 3, rule: currencyCode },
  { name: "amount", ...float, mandatory: true },
  { name: "rating", ...string, mandatory: true, lengthMax: 3, rule: rating },
  // In the real types locale, description and urlCallback may be nil, although the table calls them
  // mandatory (docs/gateway.md 2.2). A locale may also be missing: its default is en_GB.
  { name: "locale", ...text, lengthMax: 5, rule: locale },
  { name: "customerIpAddress", ...string, mandatory: true, lengthMax: 15, rule: ipAddress },
  { name: "description", ...text255, mandatory: true },
  { name: "executionDate", ...string, mandatory: true, lengthMax: 32, rule: executionDate },
  { name: "manualCapture", type: "boolean", mandatory: true },
  { name: "customerEmail", ...text, lengthMax: 32, rule: email },
  ...each(text255, "merchantReference", "merchantComment"),
  { name: "emailCallback", ...text255, rule: emails },
  { name: "urlCallback", ...address, mandatory: true },
  ...each(address, "urlAccept", "urlDecline", "urlCancel"),
  { name: "urlLogo", ...address, rule: secureAddress },
  { name: "bankReportLabel", ...text },
  // The table spells this name freedata, the published types freeData.
  { name: "freeData", alias: "freedata", type: freeData, nillable: true },
  { name: "affiliates", type: affiliates, nillable: true },
  { name: "items", type: items, nillable: true },
  ...each(text, "shopId", "thirdPartySecurity"),
  { name: "accountInfo", type: accountInfo, nillable: true },
  { name: "merchantRiskStatement", type: merchantRiskStatement, nillable: true },
  ...each(text, "exemption", "method"),
  ...credentialFields,
]);

const paymentResponse = record("PaymentResponse", [
  { name: "redirectUrl", ...string },
  { name: "code", ...int },
  { name: "description", ...string },
]);

/**
 * The fields that name an order in confirm, cancel and getDetails (docs/design.md 12.13). The real
 * types accept a merchant reference in place of the transaction (docs/gateway.md 2.2), so the
 * transaction is nillable, although the table calls it mandatory.
 */
const identity: readonly Field[] = [
  { name: "transactionPublicId", ...text, lengthMax: 32 },
  { name: "merchantReference", ...text255 },
];

const confirmParameters = record("ConfirmParameters", [
  ...identity,
  { name: "amount", ...float, nillable: true },
  { name: "currency", ...currency },
  ...credentialFields,
]);

const cancelParameters = record("CancelParameters", [
  ...identity,
  { name: "websiteId", ...number, lengthMax: 32 },
  ...credentialFields,
]);

const detailsParameters = record("DetailsParameters", [...identity, ...credentialFields]);

const operationResponse: readonly Field[] = [
  { name: "transactionPublicId", ...string },
  { name: "merchantReference", ...text },
  { name: "code", ...int },
  { name: "description", ...string },
];

const detailsResponse = record("DetailsResponse", [
  { name: "transactionPublicId", ...string },
  { name: "transactionStatus", ...text },
  { name: "amount", ...float, nillable: true },
  { name: "currency", ...text },
  { name: "code", ...int },
  { name: "description", ...string },
]);

/** The fields of a refund to the card (docs/design.md 12.12; amount: docs/gateway.md 2.2). */
const refundFields: readonly Field[] = [
  { name: "transactionPublicId", ...string, mandatory: true, lengthMax: 32 },
  { name: "amount", ...float, nillable: true },
  { name: "currency", ...currency, unpublished: true },
  ...credentialFields,
];

/** The parameters of a refund as in the real types, where websiteId is not mandatory. */
const cardParameters = record("CardParameters", [
  { name: "websiteId", ...number, lengthMax: 32 },
  ...refundFields,
]);

/** The parameters of a refund with a mandatory websiteId, as docs/design.md 12.12 has them. */
const documentedCardParameters = record("CardParameters", [
  { name: "websiteId", ...int, mandatory: true, lengthMax: 32 },
  ...refundFields,
]);

const cardResponse = record("CardResponse", [
  { name: "code", ...int },
  { name: "description", ...string },
  { name: "currency", ...text },
  { name: "amount", ...float, nillable: true },
  { name: "transactionPublicId", ...text },
]);

export type OperationName = "generate" | "confirm" | "cancel" | "getDetails" | "card";

export interface Operation {
  readonly name: OperationName;
  readonly parameters: RecordType;
  /** The children of the result element, in their order in the answer. */
  readonly response: RecordType;
}

export interface Service {
  /** The last part of the service's address; the address is also the target namespace. */
  readonly path: string;
  /** The stem of the names of port, binding and service in the WSDL. */
  readonly title: string;
  readonly operations: readonly Operation[];
}

/** The services of the gateway (docs/design.md 12.14; getDetails: docs/gateway.md 2.1). */
export const services: readonly Service[] = [
  {
    path: "payment-v2",
    title: "Payment",
    operations: [{ name: "generate", parameters: paymentParameters, response: paymentResponse }],
  },
  {
    path: "transaction-v2",
    title: "Transaction",
    operations: [
      {
        name: "confirm",
        parameters: confirmParameters,
        response: record("ConfirmResponse", operationResponse),
      },
      {
        name: "cancel",
        parameters: cancelParameters,
        response: record("CancelResponse", operationResponse),
      },
      { name: "getDetails", parameters: detailsParameters, response: detailsResponse },
    ],
  },
  {
    path: "refund-v2",
    title: "Refund",
    operations: [{ name: "card", parameters: cardParameters, response: cardResponse }],
  },
];

/** Returns the service at a path, with the types that `--website-id-mandatory` chooses. */
export function serviceAt(path: string, websiteIdMandatory: boolean): Service | undefined {
  const service = services.find((candidate) => candidate.path === path);
  if (!service || !websiteIdMandatory) return service;
  const operations = service.operations.map((operation) =>
    operation.name === "card" ? { ...operation, parameters: documentedCardParameters } : operation,
  );
  return { ...service, operations };
}

export const operationNames: readonly OperationName[] = services.flatMap(({ operations }) =>
  operations.map(({ name }) => name),
);
