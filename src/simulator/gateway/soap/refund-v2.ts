import { credentialFields, type Field, type RecordType, record } from "./field.ts";
import { currencyCode } from "./value-rules.ts";

/** Types of the card refund: docs/design.md 12.12; amount: docs/gateway.md 2.2. */

const fields: readonly Field[] = [
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
  ...fields,
]);

/** The word of the table. */
export const documentedCardParameters: RecordType = record("CardParameters", [
  { name: "websiteId", type: "int", mandatory: true, lengthMax: 32 },
  ...fields,
]);

export const cardResponse: RecordType = record("CardResponse", [
  { name: "code", type: "int" },
  { name: "description", type: "string" },
  { name: "currency", type: "string", nillable: true },
  { name: "amount", type: "float", nillable: true },
  { name: "transactionPublicId", type: "string", nillable: true },
]);
