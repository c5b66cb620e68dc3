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

/** Types of the order request: docs/design.md 12.10; docs/gateway.md 2.2. */

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
    { name: "name", type: "string" },
    { name: "hipayAccountId", type: "int" },
    { name: "amount", type: "string" },
  ]),
);

const taxes = list(
  "ArrayOfTaxeparameters",
  record("TaxeParameters", [
    { name: "label", type: "string" },
    { name: "amount", type: "float" },
  ]),
);

const items = list(
  "ArrayOfItemparameters",
  record("ItemParameters", [
    { name: "name", type: "string" },
    { name: "type", type: "int", rule: oneOf("1", "2", "3", "4") },
    { name: "infos", type: "string" },
    { name: "amount", type: "float" },
    { name: "quantity", type: "int" },
    { name: "reference", type: "string" },
    { name: "taxes", type: taxes, nillable: true },
  ]),
);

const nillableInts = (...names: readonly string[]) =>
  names.map((name) => ({ name, type: "int", nillable: true }) as const);

const accountInfo = record("AccountInfo", [
  {
    name: "customer",
    type: record("Customer", nillableInts("accountChange", "openingAccountDate", "passwordChange")),
    nillable: true,
  },
  {
    name: "purchase",
    type: record(
      "Purchase",
      nillableInts("count", "cardStored24h", "paymentAttempts24h", "paymentAttempts1y"),
    ),
    nillable: true,
  },
  {
    name: "shipping",
    type: record(
      "Shipping",
      nillableInts("shippingUsedDate", "nameIndicator", "suspiciousActivity"),
    ),
    nillable: true,
  },
]);

const merchantRiskStatement = record("MerchantRiskStatement", [
  { name: "emailDeliveryAddress", type: "string", nillable: true },
  ...nillableInts(
    "deliveryTimeFrame",
    "purchaseIndicator",
    "preOrderDate",
    "reorderIndicator",
    "shippingIndicator",
  ),
]);

const address = { type: "string", nillable: true, lengthMax: 255, rule: webAddress } as const;
const text255 = { type: "string", nillable: true, lengthMax: 255 } as const;
const text = { type: "string", nillable: true } as const;

const paymentParameters: RecordType = record("PaymentParameters", [
  { name: "websiteId", type: "int", mandatory: true, lengthMax: 11 },
  { name: "categoryId", type: "int", mandatory: true, lengthMax: 11 },
  { name: "subscriptionId", ...text },
  { name: "currency", type: "string", mandatory: true, lengthMax: 3, rule: currencyCode },
  { name: "amount", type: "float", mandatory: true },
  {
    name: "rating",
    type: "string",
    mandatory: true,
    lengthMax: 3,
    rule: oneOf("+12", "+16", "+18", "ALL"),
  },
  // The real types let locale, description and urlCallback be nil although the table calls them
  // mandatory (docs/gateway.md 2.2). A locale may be missing too: its default is en_GB.
  { name: "locale", type: "string", nillable: true, lengthMax: 5, rule: locale },
  { name: "customerIpAddress", type: "string", mandatory: true, lengthMax: 15, rule: ipAddress },
  { name: "description", ...text255, mandatory: true },
  { name: "executionDate", type: "string", mandatory: true, lengthMax: 32, rule: executionDate },
  { name: "manualCapture", type: "boolean", mandatory: true },
  { name: "customerEmail", type: "string", nillable: true, lengthMax: 32, rule: email },
  { name: "merchantReference", ...text255 },
  { name: "merchantComment", ...text255 },
  { name: "emailCallback", ...text255, rule: emails },
  { name: "urlCallback", ...address, mandatory: true },
  { name: "urlAccept", ...address },
  { name: "urlDecline", ...address },
  { name: "urlCancel", ...address },
  { name: "urlLogo", ...address, rule: secureAddress },
  { name: "bankReportLabel", ...text },
  // The table's row is spelled freedata, the element freeData.
  { name: "freeData", alias: "freedata", type: freeData, nillable: true },
  { name: "affiliates", type: affiliates, nillable: true },
  { name: "items", type: items, nillable: true },
  { name: "shopId", ...text },
  { name: "thirdPartySecurity", ...text },
  { name: "accountInfo", type: accountInfo, nillable: true },
  { name: "merchantRiskStatement", type: merchantRiskStatement, nillable: true },
  { name: "exemption", ...text },
  { name: "method", ...text },
  ...credentialFields,
]);

const paymentResponse: RecordType = record("PaymentResponse", [
  { name: "redirectUrl", type: "string" },
  { name: "code", type: "int" },
  { name: "description", type: "string" },
]);

/**
 * Types of confirm, cancel and getDetails: docs/design.md 12.13. The real types let a merchant
 * reference stand for the transaction (docs/gateway.md 2.2), so the identifier is nillable although
 * the table calls it mandatory.
 */
const identity: readonly Field[] = [
  { name: "transactionPublicId", type: "string", nillable: true, lengthMax: 32 },
  { name: "merchantReference", type: "string", nillable: true, lengthMax: 255 },
];

const confirmParameters: RecordType = record("ConfirmParameters", [
  ...identity,
  { name: "amount", type: "float", nillable: true },
  { name: "currency", type: "string", nillable: true, lengthMax: 3, rule: currencyCode },
  ...credentialFields,
]);

const cancelParameters: RecordType = record("CancelParameters", [
  ...identity,
  { name: "websiteId", type: "int", nillable: true, lengthMax: 32 },
  ...credentialFields,
]);

const detailsParameters: RecordType = record("DetailsParameters", [
  ...identity,
  ...credentialFields,
]);

const operationResponse: readonly Field[] = [
  { name: "transactionPublicId", type: "string" },
  { name: "merchantReference", type: "string", nillable: true },
  { name: "code", type: "int" },
  { name: "description", type: "string" },
];

const confirmResponse: RecordType = record("ConfirmResponse", operationResponse);
const cancelResponse: RecordType = record("CancelResponse", operationResponse);

const detailsResponse: RecordType = record("DetailsResponse", [
  { name: "transactionPublicId", type: "string" },
  { name: "transactionStatus", type: "string", nillable: true },
  { name: "amount", type: "float", nillable: true },
  { name: "currency", type: "string", nillable: true },
  { name: "code", type: "int" },
  { name: "description", type: "string" },
]);

/** Types of the card refund: docs/design.md 12.12; amount: docs/gateway.md 2.2. */
const refundFields: readonly Field[] = [
  { name: "transactionPublicId", type: "string", mandatory: true, lengthMax: 32 },
  { name: "amount", type: "float", nillable: true },
  {
    name: "currency",
    type: "string",
    nillable: true,
    lengthMax: 3,
    rule: currencyCode,
    unpublished: true,
  },
  ...credentialFields,
];

/** websiteId is optional: the table calls it mandatory, the real types of 2019 do not have it. */
const cardParameters: RecordType = record("CardParameters", [
  { name: "websiteId", type: "int", nillable: true, lengthMax: 32 },
  ...refundFields,
]);

/** websiteId is mandatory, as the table says. */
const documentedCardParameters: RecordType = record("CardParameters", [
  { name: "websiteId", type: "int", mandatory: true, lengthMax: 32 },
  ...refundFields,
]);

const cardResponse: RecordType = record("CardResponse", [
  { name: "code", type: "int" },
  { name: "description", type: "string" },
  { name: "currency", type: "string", nillable: true },
  { name: "amount", type: "float", nillable: true },
  { name: "transactionPublicId", type: "string", nillable: true },
]);

export type OperationName = "generate" | "confirm" | "cancel" | "getDetails" | "card";

export interface Operation {
  readonly name: OperationName;
  readonly parameters: RecordType;
  /** The result element's children, in the order they are written. */
  readonly response: RecordType;
}

export interface Service {
  /** Last part of the service's address, which is also its target namespace. */
  readonly path: string;
  /** The stem of the names of port, binding and service in the WSDL. */
  readonly title: string;
  readonly operations: readonly Operation[];
}

/** docs/design.md 12.14; getDetails: docs/gateway.md 2.1. */
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
      { name: "confirm", parameters: confirmParameters, response: confirmResponse },
      { name: "cancel", parameters: cancelParameters, response: cancelResponse },
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
  return service && websiteIdMandatory ? documented(service) : service;
}

function documented({ operations, ...service }: Service): Service {
  const withWebsite = operations.map((operation) =>
    operation.name === "card" ? { ...operation, parameters: documentedCardParameters } : operation,
  );
  return { ...service, operations: withWebsite };
}

export const operationNames: readonly OperationName[] = services.flatMap(({ operations }) =>
  operations.map(({ name }) => name),
);
