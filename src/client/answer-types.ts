import type { z } from "zod";
import type { EventData, eventTable } from "../tp-manager/attempts/event-table.ts";
import type { Answer, Still } from "../tp-manager/http/call.ts";
import type { Known } from "../tp-manager/http/openapi/known-answers.ts";

/*
 * The types of the local API's answers, derived from the schemas of the API's document. The
 * published client has plain types with the same names; scripts/client-package.ts lists them.
 */

export type PaymentAnswer = Answer<"paymentAnswer">;
export type PaymentStatus = PaymentAnswer["status"];
/** An error of any call; a newer connector may send a code that is not listed. */
export type ApiError = Omit<NonNullable<PaymentAnswer["error"]>, "code"> & {
  readonly code: string;
};
export type Attempt = Answer<"attempt">;
export type Health = Answer<"health">;
export type Check = Still<z.input<Known["check"]>>;
/** The members of each event of `GET /events`, except the member `at` (the time of the event). */
export type EventMembers = { readonly [Name in keyof typeof eventTable]: Still<EventData<Name>> };
