import {
  credentialFields,
  currencyCode,
  email,
  emails,
  executionDate,
  type Fields,
  ipAddress,
  list,
  locale,
  oneOf,
  type RecordType,
  record,
  secureAddress,
  webAddress,
} from "./parameters.ts";

function each(field: Fields[string], ...names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, field]));
}

const string = { type: "string" } as const;
const float = { type: "float" } as const;
const int = { type: "int" } as const;
const text = { type: "string", nillable: true } as const;
const number = { type: "int", nillable: true } as const;
const decimal = { type: "float", nillable: true } as const;
const text255 = { ...text, lengthMax: 255 } as const;
const address = { ...text255, rule: webAddress } as const;
const currency = { ...text, lengthMax: 3, rule: currencyCode } as const;

const datum = {
  key: { ...string, mandatory: true },
  value: { ...string, mandatory: true, mayBeEmpty: true },
};
const freeData = list("ArrayOfDatawrapper", record("DataWrapper", datum));

const affiliate = { name: string, hipayAccountId: int, amount: string };
const affiliates = list("ArrayOfAffiliateparameters", record("AffiliateParameters", affiliate));

const tax = { label: string, amount: float };
const taxes = list("ArrayOfTaxeparameters", record("TaxeParameters", tax));

const items = list(
  "ArrayOfItemparameters",
  record("ItemParameters", {
    name: string,
    type: { ...int, rule: oneOf("1", "2", "3", "4") },
    infos: string,
    amount: float,
    quantity: int,
    reference: string,
    taxes: { type: taxes, nillable: true },
  }),
);

const customer = each(number, "accountChange", "openingAccountDate", "passwordChange");
const purchase = {
  ...each(number, "count", "cardStored24h"),
  ...each(number, "paymentAttempts24h", "paymentAttempts1y"),
};
const shipping = each(number, "shippingUsedDate", "nameIndicator", "suspiciousActivity");
const accountInfo = record("AccountInfo", {
  customer: { type: record("Customer", customer), nillable: true },
  purchase: { type: record("Purchase", purchase), nillable: true },
  shipping: { type: record("Shipping", shipping), nillable: true },
});

const merchantRiskStatement = record("MerchantRiskStatement", {
  emailDeliveryAddress: text,
  ...each(number, "deliveryTimeFrame", "purchaseIndicator", "preOrderDate"),
  ...each(number, "reorderIndicator", "shippingIndicator"),
});

/** The parameters of an order request (docs/design.md 12.10; docs/gateway.md 2.2). */
const orderRequest: Fields = {
  ...each({ type: "int", mandatory: true, lengthMax: 11 }, "websiteId", "categoryId"),
  subscriptionId: text,
  currency: { ...string, mandatory: true, lengthMax: 3, rule: currencyCode },
  amount: { ...float, mandatory: true },
  rating: { ...string, mandatory: true, lengthMax: 3, rule: oneOf("+12", "+16", "+18", "ALL") },
  // The real gateway accepts nil for locale, description and urlCallback, although its documents
  // call them mandatory (docs/gateway.md 2.2). Without a locale the default is en_GB.
  locale: { ...text, lengthMax: 5, rule: locale },
  customerIpAddress: { ...string, mandatory: true, lengthMax: 15, rule: ipAddress },
  description: { ...text255, mandatory: true },
  executionDate: { ...string, mandatory: true, lengthMax: 32, rule: executionDate },
  manualCapture: { type: "boolean", mandatory: true },
  customerEmail: { ...text, lengthMax: 32, rule: email },
  ...each(text255, "merchantReference", "merchantComment"),
  emailCallback: { ...text255, rule: emails },
  urlCallback: { ...address, mandatory: true },
  ...each(address, "urlAccept", "urlDecline", "urlCancel"),
  urlLogo: { ...address, rule: secureAddress },
  bankReportLabel: text,
  // The gateway's documents spell this name freedata, its WSDL freeData.
  freeData: { alias: "freedata", type: freeData, nillable: true },
  affiliates: { type: affiliates, nillable: true },
  items: { type: items, nillable: true },
  ...each(text, "shopId", "thirdPartySecurity"),
  accountInfo: { type: accountInfo, nillable: true },
  merchantRiskStatement: { type: merchantRiskStatement, nillable: true },
  ...each(text, "exemption", "method"),
};

/**
 * The fields that name an order in confirm, cancel and getDetails (docs/design.md 12.13). The
 * transaction can be nil: the real gateway accepts the reference instead (docs/gateway.md 2.2).
 */
const identity: Fields = {
  transactionPublicId: { ...text, lengthMax: 32 },
  merchantReference: text255,
};

/** The parameters of a refund to the card (docs/design.md 12.12; amount: docs/gateway.md 2.2). */
const refund: Fields = {
  // The real gateway does not need websiteId, although its documents call it mandatory.
  websiteId: { ...number, lengthMax: 32 },
  transactionPublicId: { ...string, mandatory: true, lengthMax: 32 },
  amount: decimal,
  currency: { ...currency, unpublished: true },
};

/** The parameters of a refund as the gateway's documents have them: websiteId is mandatory. */
const documentedRefund: Fields = {
  ...refund,
  websiteId: { ...int, mandatory: true, lengthMax: 32 },
};

const outcome: Fields = { code: int, description: string };
const changed: Fields = { transactionPublicId: string, merchantReference: text, ...outcome };
const details: Fields = {
  transactionPublicId: string,
  transactionStatus: text,
  amount: decimal,
  currency: text,
  ...outcome,
};
const refunded: Fields = { ...outcome, currency: text, amount: decimal, transactionPublicId: text };

type OperationName = "generate" | "confirm" | "cancel" | "getDetails" | "card";

export interface Operation {
  readonly name: OperationName;
  readonly parameters: RecordType;
  /** The children of the result element, in their order in the answer. */
  readonly response: RecordType;
}

export interface Service {
  /** The last part of the service's address; the whole address is also the target namespace. */
  readonly path: string;
  /** The beginning of the names of port, binding and service in the WSDL. */
  readonly title: string;
  readonly operations: readonly Operation[];
}

/** Returns a SOAP operation; `stem` is the beginning of its type names in the WSDL. */
function operation(name: OperationName, stem: string, parameters: Fields, response: Fields) {
  return {
    name,
    parameters: record(`${stem}Parameters`, { ...parameters, ...credentialFields }),
    response: record(`${stem}Response`, response),
  };
}

const confirm: Fields = { ...identity, amount: decimal, currency };
const cancel: Fields = { ...identity, websiteId: { ...number, lengthMax: 32 } };

/** The services of the gateway (docs/design.md 12.14; getDetails: docs/gateway.md 2.1). */
export const services: readonly Service[] = [
  {
    path: "payment-v2",
    title: "Payment",
    operations: [
      operation("generate", "Payment", orderRequest, { redirectUrl: string, ...outcome }),
    ],
  },
  {
    path: "transaction-v2",
    title: "Transaction",
    operations: [
      operation("confirm", "Confirm", confirm, changed),
      operation("cancel", "Cancel", cancel, changed),
      operation("getDetails", "Details", identity, details),
    ],
  },
  { path: "refund-v2", title: "Refund", operations: [operation("card", "Card", refund, refunded)] },
];

/** The refund service with a mandatory websiteId, which `--website-id-mandatory` chooses. */
const documentedRefunds: Service = {
  path: "refund-v2",
  title: "Refund",
  operations: [operation("card", "Card", documentedRefund, refunded)],
};

export function serviceAt(path: string, websiteIdMandatory: boolean): Service | undefined {
  if (websiteIdMandatory && path === documentedRefunds.path) return documentedRefunds;
  return services.find((candidate) => candidate.path === path);
}

export const operationNames: readonly OperationName[] = services.flatMap(({ operations }) =>
  operations.map(({ name }) => name),
);
