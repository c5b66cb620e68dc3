import { credentialFields, list, type RecordType, record } from "./field.ts";
import {
  currencyCode,
  email,
  emails,
  executionDate,
  ipAddress,
  locale,
  oneOf,
  secureAddress,
  webAddress,
} from "./value-rules.ts";

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

export const paymentParameters: RecordType = record("PaymentParameters", [
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

export const paymentResponse: RecordType = record("PaymentResponse", [
  { name: "redirectUrl", type: "string" },
  { name: "code", type: "int" },
  { name: "description", type: "string" },
]);
