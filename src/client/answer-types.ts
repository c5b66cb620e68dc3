import type { z } from "zod";
import type { EventData, eventTable } from "../tp-manager/attempts/event-table.ts";
import type { Answer, Still } from "../tp-manager/http/call.ts";
import type { Known } from "../tp-manager/http/openapi/known-answers.ts";

/*
 * The answers of the local API, by the schemas of its document. The package has the same names as
 * plain types, which scripts/client-package.ts makes of docs/openapi.json.
 */

export type PaymentAnswer = Answer<"paymentAnswer">;
export type PaymentStatus = PaymentAnswer["status"];
export type Attempt = Answer<"attempt">;
export type Health = Answer<"health">;
export type Check = Still<z.input<Known["check"]>>;
/** The events of `GET /events`: the members of each besides `at`. */
export type EventMembers = { readonly [Name in keyof typeof eventTable]: Still<EventData<Name>> };
