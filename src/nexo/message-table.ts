import { z } from "zod";
import { NexoCodecError } from "./errors.ts";

/*
 * The messages as data: what this dialect needs of each. Members that are not listed are left out
 * when a message is read, so that no card data but those listed here goes any further. Numbers are
 * texts (see json-text.ts).
 */

const text = z.string();
const optional = text.optional();
const ignored = z.unknown().transform(() => undefined);
/** A member that decides nothing about money: in any other form it counts as left out. */
const loose = <T extends z.ZodType>(schema: T) => z.union([schema, ignored]).optional();
const looseText = loose(text);
/** Real messages also write a boolean as a text, in small or in capital letters. */
const flagText = text.toLowerCase().pipe(z.enum(["true", "false"]));
const flag = z.union([z.boolean(), flagText.transform((one) => one === "true")]);
const oneOrMore = z.union([z.array(text), text.transform((one) => [one])]);

/** Who sends what, and the ids that join an answer to its request (docs/nexo.md 1.3). */
export const headerSchema = z.looseObject({
  ProtocolVersion: optional,
  MessageClass: text,
  MessageCategory: text,
  MessageType: text,
  SaleID: optional,
  ServiceID: optional,
  POIID: optional,
});
export type Header = z.output<typeof headerSchema>;

/** A transaction as one side names it: the id, and the time exactly as that side wrote it. */
const transactionId = z.object({ TransactionID: text, TimeStamp: text });
/** The same in an answer. */
const namedId = z.object({ TransactionID: text, TimeStamp: looseText });
/** A text, or the JSON of what stands in its place: it may say that the bank had approved. */
const anyText = z.union([text, z.unknown().transform((one) => JSON.stringify(one))]).optional();

export const responseSchema = z.object({
  Result: text,
  /** A text and no closed list: documents name values that the list lacks. */
  ErrorCondition: optional,
  AdditionalResponse: anyText,
});

const saleData = z.object({
  SaleTransactionID: namedId.optional(),
  SaleToAcquirerData: looseText,
});
const poiData = z.object({ POITransactionID: loose(namedId) });

const receipt = z.object({
  DocumentQualifier: looseText,
  RequiredSignatureFlag: loose(flag),
  OutputContent: loose(
    z.object({ OutputText: loose(z.array(loose(z.object({ Text: looseText })))) }),
  ),
});
const receipts = loose(z.array(loose(receipt)));

const ids = { SaleID: optional, ServiceID: optional, POIID: optional };
const reference = z.object({ MessageCategory: text, ...ids });
/** What an answer repeats of the request that it is about. */
const repeated = z.object({ MessageCategory: optional, ...ids });

const paymentResponse = z.object({
  Response: responseSchema,
  SaleData: saleData.optional(),
  POIData: loose(poiData),
  PaymentReceipt: receipts,
  PaymentResult: z
    .object({
      OnlineFlag: loose(flag),
      AmountsResp: z.object({ Currency: optional, AuthorizedAmount: optional }).optional(),
      PaymentAcquirerData: loose(z.object({ MerchantID: looseText, ApprovalCode: looseText })),
      PaymentInstrumentData: loose(
        z.object({
          CardData: loose(
            z.object({
              PaymentBrand: looseText,
              MaskedPan: looseText,
              EntryMode: loose(oneOrMore),
            }),
          ),
        }),
      ),
    })
    .optional(),
});

const reversalResponse = z.object({
  Response: responseSchema,
  POIData: loose(poiData),
  PaymentReceipt: receipts,
});

const bodies = {
  PaymentRequest: z.object({
    SaleData: z.object({ SaleTransactionID: transactionId, SaleToAcquirerData: optional }),
    PaymentTransaction: z.object({
      AmountsReq: z.object({ Currency: text, RequestedAmount: text }),
    }),
  }),
  PaymentResponse: paymentResponse,
  ReversalRequest: z.object({
    OriginalPOITransaction: z.object({ POITransactionID: transactionId }),
    ReversalReason: optional,
    ReversedAmount: optional,
    SaleData: saleData.optional(),
  }),
  ReversalResponse: reversalResponse,
  TransactionStatusRequest: z.object({ MessageReference: reference.optional() }),
  TransactionStatusResponse: z.object({
    Response: responseSchema,
    MessageReference: repeated.optional(),
    RepeatedMessageResponse: z
      .object({
        MessageHeader: repeated.optional(),
        RepeatedResponseMessageBody: z.object({
          PaymentResponse: paymentResponse.optional(),
          ReversalResponse: reversalResponse.optional(),
        }),
      })
      .optional(),
  }),
  AbortRequest: z.object({ MessageReference: reference, AbortReason: optional }),
  /** Not part of this dialect, in which an abort has no answer. */
  AbortResponse: z.object({ Response: responseSchema }),
  DiagnosisRequest: z.object({ HostDiagnosisFlag: loose(flag) }),
  DiagnosisResponse: z.object({
    Response: responseSchema,
    POIStatus: loose(z.object({ GlobalStatus: looseText })),
  }),
  LoginRequest: z.object({ DateTime: optional }),
  LoginResponse: z.object({
    Response: responseSchema,
    POISystemData: z
      .object({
        DateTime: optional,
        POISoftware: z.object({ SoftwareVersion: optional }).optional(),
      })
      .optional(),
  }),
  DisplayRequest: z.object({
    DisplayOutput: z.array(
      z.object({
        OutputContent: z.object({
          PredefinedContent: z.object({ ReferenceID: text }).optional(),
        }),
      }),
    ),
  }),
  EventNotification: z.object({
    EventToNotify: text,
    EventDetails: optional,
    TimeStamp: optional,
  }),
} as const;

export type BodyName = keyof typeof bodies;
export type Body<N extends BodyName> = z.output<(typeof bodies)[N]>;
export type PaymentResponse = Body<"PaymentResponse">;

/**
 * Returns the body of a message that must have the body `name`. Throws {@link NexoCodecError}
 * "shape"; its text names members and never their values, which may be card data.
 */
export function bodyOf<N extends BodyName>(
  message: { readonly name: string; readonly body: unknown },
  name: N,
): Body<N> {
  if (message.name !== name) {
    throw new NexoCodecError("shape", `a ${name} was expected, and another body came`);
  }
  return shaped<Body<N>>(bodies[name] as unknown as z.ZodType<Body<N>>, message.body, name);
}

/** Returns a value that has been checked by a schema. Throws {@link NexoCodecError} "shape". */
export function shaped<T>(schema: z.ZodType<T>, value: unknown, name: string): T {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const [issue] = error.issues;
  const path = [name, ...(issue?.path ?? [])].join(".");
  throw new NexoCodecError("shape", `the member ${path} is missing or has an invalid value`);
}

/** The classes of the categories that this dialect needs; of the kind "Service" unless listed. */
const classes: Readonly<Record<string, string>> = { Display: "Device", Event: "Event" };

/** Who talks about what: the ids in the header of a message. */
export interface HeaderIds {
  readonly saleId: string;
  readonly serviceId: string;
  readonly poiId: string;
}

export function headerFor(
  category: string,
  type: "Request" | "Response" | "Notification",
  { saleId, serviceId, poiId }: HeaderIds,
): Header {
  return {
    ProtocolVersion: "3.0",
    MessageClass: classes[category] ?? "Service",
    MessageCategory: category,
    MessageType: type,
    SaleID: saleId,
    ServiceID: serviceId,
    POIID: poiId,
  };
}
