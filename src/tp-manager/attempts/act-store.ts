/** A person's request at the operator's console (docs/console.md 3). */
export interface Act {
  /** Of the session. */
  readonly login: string;
  /** The person's own word. */
  readonly name: string;
  readonly reason: string;
  /** Method and path of the local API. */
  readonly call: string;
  /** JSON, card numbers masked; null without a body. */
  readonly body: string | null;
}

export interface KeptAct extends Act {
  readonly id: number;
  readonly atMs: number;
  /** The status of the answer; null while it runs, or when the program ended before. */
  readonly http: number | null;
  /** Of the error that was answered; null without one, and of acts that older versions kept. */
  readonly code: string | null;
}

export interface ActStore {
  /** On disk when this returns; the answer is its number. */
  begin(act: Act, atMs: number): number;
  end(id: number, http: number, code: string | null): void;
  /** Those with smaller numbers than `before`, the newest first. */
  list(before: number, limit: number): KeptAct[];
}
