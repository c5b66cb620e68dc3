import type { RecordType } from "./field.ts";
import { paymentParameters, paymentResponse } from "./payment-v2.ts";
import {
  cancelParameters,
  cancelResponse,
  cardParameters,
  cardResponse,
  confirmParameters,
  confirmResponse,
  detailsParameters,
  detailsResponse,
  documentedCardParameters,
} from "./transaction-v2.ts";

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

/** The service at a path, with the types that the switch `--website-id-mandatory` chooses. */
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
