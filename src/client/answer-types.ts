import type { z } from "zod";
import type { EventData, eventTable } from "../tp-manager/attempts/event-table.ts";
import type { Answer, Still } from "../tp-manager/http/call.ts";
import type { Known } from "../tp-manager/http/openapi/known-answers.ts";

/*
 * The types of the local API's answers, derived from the schemas of its document. In the package
 * the same names are plain types: scripts/client-package.ts has a line for each type of this file.
 */

export type PaymentAnswer = Answer<"paymentAnswer">;
export type PaymentStatus = PaymentAnswer["status"];
export type Attempt = Answer<"attempt">;
export type Health = Answer<"health">;
export type Check = Still<z.input<Known["check"]>>;
/** The members of each event of `GET /events`, without the member `at` (its time). */
export type EventMembers = { readonly [Name in keyof typeof eventTable]: Still<EventData<Name>> };
