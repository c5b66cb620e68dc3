/** One safety measure taken out of the product; each text must be there exactly once. */
export interface Mutation {
  readonly removes: string;
  readonly edits: ReadonlyArray<{
    readonly file: string;
    readonly from: string;
    readonly to: string;
  }>;
}

const room = "src/tp-manager";
const attempts = "src/tp-manager/journal/attempt-rows.ts";

/** What the chaos run must find, one at a time: a test that cannot fail proves nothing. */
export const mutations: readonly Mutation[] = [
  {
    removes: "the write-ahead record (kept in memory until the first report)",
    edits: [
      {
        file: attempts,
        from: "return this.#insert({ ...attempt, state, baseline, endedAtMs: null });",
        to: `this.held = { ...attempt, state, baseline, endedAtMs: null };
    return { ...this.held, number: 1, ticket: "" };`,
      },
      {
        file: attempts,
        from: "  latest(orderId: string)",
        to: `  held: Omit<Attempt, "number" | "ticket"> | undefined;
  latest(orderId: string)`,
      },
      {
        file: attempts,
        from: `this.#events.telling((tell) => {
      const before = this.#mustRead(transactionId);`,
        to: `this.#events.telling((tell) => {
      if (this.held?.transactionId === transactionId) this.#insertRow(this.held);
      this.held = undefined;
      const before = this.#mustRead(transactionId);`,
      },
    ],
  },
  {
    removes: "the commit before 04 0F is acknowledged (done a moment later)",
    edits: [
      {
        file: `${room}/desk/payment-run.ts`,
        from: 'this.#writer.advance({ input: "report",',
        to: 'const late = () => this.#writer.advance({ input: "report",',
      },
      {
        file: `${room}/desk/payment-run.ts`,
        from: '    if (judgement !== "disagrees") return "accept";',
        to: '    queueMicrotask(late);\n    if (judgement !== "disagrees") return "accept";',
      },
    ],
  },
  {
    removes: "the one transaction of outcome and hand-off row",
    edits: [
      {
        file: "src/tp-manager/journal/event-rows.ts",
        from: "const result = this.#statements.transaction(() =>",
        to: "const result = ((all: () => T) => all())(() =>",
      },
    ],
  },
  {
    removes: "the lookup of the order before a payment (idempotency)",
    edits: [
      {
        file: `${room}/orders/admission.ts`,
        from: 'if (earlier && earlier.state.phase !== "not-charged") return known',
        to: 'if (earlier?.state.phase === "reversed") return known',
      },
    ],
  },
  {
    removes: "the comparison of recovery with the baseline",
    edits: [
      {
        file: `${room}/attempts/recovery-policy.ts`,
        from: "if (sameTransaction(doubt.baseline.last, last)) return unchanged(",
        to: "if (doubt.amountMinor < 0) return unchanged(",
      },
    ],
  },
  {
    removes: "the wait for the lost payment's own time limit",
    edits: [
      {
        file: `${room}/attempts/recovery-policy.ts`,
        from: "  if (leftMs > 0) {",
        to: "  if (leftMs > Number.MAX_SAFE_INTEGER) {",
      },
    ],
  },
  {
    removes: "the second matching read of a charge that was not acknowledged",
    edits: [
      {
        file: `${room}/attempts/recovery-policy.ts`,
        from: `  if (proven || confirmed) {
    return {
      verdict: "charged",`,
        to: `  if (proven || confirmed || report.good) {
    return {
      verdict: "charged",`,
      },
    ],
  },
  {
    removes: "docs/design.md 3.5: no sale before the doubtful one was asked about",
    edits: [
      {
        file: `${room}/desk/terminal-turn.ts`,
        from: "    if (blockedBy !== undefined) {",
        to: '    if (blockedBy === "") {',
      },
    ],
  },
  {
    removes: "the check that a found sale is not that of a later order",
    edits: [
      {
        file: `${room}/attempts/recovery-policy.ts`,
        from: "  if (mayBeOfLater(doubt, observation, report)) {",
        to: "  if (report.amountMinor === -1 && mayBeOfLater(doubt, observation, report)) {",
      },
    ],
  },
  {
    removes: "the supervisor's storing before a hand-off counts as done",
    edits: [
      {
        file: `${room}/supervisor/hand-off.ts`,
        from: '      else await this.#link.call("store-transaction", { transaction });',
        to: `      else {
        this.#store.acknowledgeHandOff(transactionId);
        await this.#link.call("store-transaction", { transaction });
      }`,
      },
    ],
  },
  {
    removes: "the truth about an order while another one is paid",
    edits: [
      {
        file: `${room}/orders/admission.ts`,
        from: '  // Before anything is refused: "busy" says',
        to: '  desk.turn.assertFree();\n  // Before anything is refused: "busy" says',
      },
    ],
  },
  {
    removes: "the end of a payment that was cancelled while the terminal was made ready",
    edits: [
      {
        file: `${room}/desk/terminal-desk.ts`,
        from: "      current.preparing.abort(new CancelledInTime());",
        to: "      void CancelledInTime;",
      },
    ],
  },
  {
    removes: "the second look at a sale that no order asked for",
    edits: [
      {
        file: `${room}/attempts/stray-policy.ts`,
        from: "    return confirmed\n",
        to: "    return confirmed || report.good\n",
      },
    ],
  },
];
