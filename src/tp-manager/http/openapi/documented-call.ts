import type { z } from "zod";
import type { ErrorCode } from "../../../shared/errors.ts";

/** One call of the local API, as the OpenAPI document describes it. */
export interface DocumentedCall {
  readonly path: string;
  readonly methods: ReadonlyArray<"get" | "post">;
  readonly summary: string;
  readonly description?: string;
  /** Who may call it where OPERATOR_LOGIN is set. "own": without that setting nobody may. */
  readonly role?: "operator" | "own";
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: { readonly schema: z.ZodType; readonly example: object };
  /** The one object of a good answer; "text" for what is not JSON. */
  readonly answer: { readonly schema: z.ZodType; readonly example: object } | TextAnswer;
  /** The answer is a list of any length instead of one object. */
  readonly list?: boolean;
  /** An answer of this kind may come with these statuses too. */
  readonly answerAlso?: readonly number[];
  readonly errors: readonly ErrorCode[];
}

interface TextAnswer {
  readonly type: string;
  readonly description: string;
}
