/** Readings of AF for a kiosk, of an action that was not done (docs/concert.md 4.4). */
type FailureReading =
  | "declined"
  | "cancelled"
  | "customer-timeout"
  | "fault"
  | "wrong-currency"
  | "unknown";

interface Failure {
  readonly text: string;
  readonly reading: FailureReading;
}

const failures: Readonly<Record<string, Failure>> = {
  "00": { text: "reason not known", reading: "unknown" },
  "02": { text: "the bank asks for a telephone call", reading: "declined" },
  "03": { text: "forced", reading: "declined" },
  "04": { text: "refused", reading: "declined" },
  "05": { text: "forbidden", reading: "declined" },
  "06": { text: "abandoned by the customer", reading: "cancelled" },
  "07": { text: "not completed", reading: "unknown" },
  "08": { text: "the customer took too long", reading: "customer-timeout" },
  "09": { text: "the terminal does not understand the message", reading: "fault" },
  "10": { text: "selection error", reading: "fault" },
  "11": { text: "abandoned by the operator", reading: "cancelled" },
  "12": { text: "the terminal does not know the action", reading: "fault" },
  "13": { text: "the terminal does not take the currency", reading: "wrong-currency" },
};

/** `reason`: AF as it came; without it the terminal only says that nothing was done. */
export function failureOf(reason: string | undefined): Failure {
  if (reason === undefined) return { text: "not done", reading: "declined" };
  const known = failures[reason.slice(0, 2)];
  return known ?? { text: `not done (${reason.slice(0, 2)})`, reading: "unknown" };
}
