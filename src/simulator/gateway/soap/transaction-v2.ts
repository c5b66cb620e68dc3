import { credentialFields, type Field, type RecordType, record } from "./field.ts";
import { currencyCode } from "./value-rules.ts";

/**
 * Types of confirm, cancel and getDetails: docs/design.md 12.13. The real types let a merchant
 * reference stand for the transaction (docs/gateway.md 2.2), so the identifier is nillable although
 * the table calls it mandatory.
 */
const identity: readonly Field[] = [
  { name: "transactionPublicId", type: "string", nillable: true, lengthMax: 32 },
  { name: "merchantReference", type: "string", nillable: true, lengthMax: 255 },
];

export const confirmParameters: RecordType = record("ConfirmParameters", [
  ...identity,
  { name: "amount", type: "float", nillable: true },
  { name: "currency", type: "string", nillable: true, lengthMax: 3, rule: currencyCode },
  ...credentialFields,
]);

export const cancelParameters: RecordType = record("CancelParameters", [
  ...identity,
  { name: "websiteId", type: "int", nillable: true, lengthMax: 32 },
  ...credentialFields,
]);

export const detailsParameters: RecordType = record("DetailsParameters", [
  ...identity,
  ...credentialFields,
]);

const operationResponse: readonly Field[] = [
  { name: "transactionPublicId", type: "string" },
  { name: "merchantReference", type: "string", nillable: true },
  { name: "code", type: "int" },
  { name: "description", type: "string" },
];

export const confirmResponse: RecordType = record("ConfirmResponse", operationResponse);
export const cancelResponse: RecordType = record("CancelResponse", operationResponse);

export const detailsResponse: RecordType = record("DetailsResponse", [
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

/** The table calls websiteId mandatory, the types of 2019 do not have it: sent or not is right. */
export const cardParameters: RecordType = record("CardParameters", [
  { name: "websiteId", type: "int", nillable: true, lengthMax: 32 },
  ...refundFields,
]);

/** The word of the table. */
export const documentedCardParameters: RecordType = record("CardParameters", [
  { name: "websiteId", type: "int", mandatory: true, lengthMax: 32 },
  ...refundFields,
]);

export const cardResponse: RecordType = record("CardResponse", [
  { name: "code", type: "int" },
  { name: "description", type: "string" },
  { name: "currency", type: "string", nillable: true },
  { name: "amount", type: "float", nillable: true },
  { name: "transactionPublicId", type: "string", nillable: true },
]);
