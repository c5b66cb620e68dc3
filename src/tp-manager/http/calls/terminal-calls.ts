import { z } from "zod";
import { currencyOf, formatMajor } from "../../../shared/money.ts";
import { osName, publisherHere, versionNumber } from "../../../shared/program/installation.ts";
import { isoTime } from "../../../shared/time.ts";
import { type TerminalStatus, TerminalUnavailable } from "../../terminal/terminal.ts";
import { oneOf } from "../body/input.ts";
import { type AnyCall, type CallContext, call } from "../call.ts";
import { success } from "../envelope.ts";
import { reconciliationView } from "./day-calls.ts";

/** The member `type` of `/version`: "tpa" for unattended terminals (docs/design.md 12.8). */
const APPLICATION_TYPE = "tpa";

const version = {
  version: z.string().describe("The connector's version: number, type and system."),
  type: z.literal(APPLICATION_TYPE),
  os: z.string(),
};

const os = osName();
const versionBody = {
  version: `${versionNumber}-${APPLICATION_TYPE}-${os}`,
  type: APPLICATION_TYPE,
  os,
} as const;
const { supportedUntil } = publisherHere();

export const terminalCalls: readonly AnyCall[] = [
  call({
    path: "/reset",
    methods: ["GET", "POST"],
    role: "operator",
    document: ({ message }) => ({
      answer: message,
      errors: ["TERMINAL_BUSY", "TERMINAL_IN_DOUBT", "STOPPING", "RESET_FAILED", "NOT_SUPPORTED"],
    }),
    async handle(_, { arbiter }) {
      await arbiter.upkeep.reset();
      return { ...success, message: "The terminal has restarted and is registered." };
    },
  }),

  call({
    path: "/tlc",
    methods: ["GET", "POST"],
    role: "operator",
    document: ({ errors, reconciliation }) => ({
      answer: z.object({
        NbApp: z.string(),
        App: z.array(
          z.object({ Name: z.string(), Status: z.string(), Count: z.string(), Sum: z.string() }),
        ),
        ticket: z.string(),
        reconciliation: reconciliation.nullable(),
      }),
      // No TERMINAL_OUT_OF_ORDER: a terminal that accepts no cards still carries out an end of day.
      errors: [
        ...errors.terminal.filter((code) => code !== "TERMINAL_OUT_OF_ORDER"),
        "TELECOLLECTION_FAILED",
        "OPEN_PRE_AUTHORISATIONS",
        "NOT_SUPPORTED",
      ],
    }),
    async handle(_, at) {
      const { applications, ticket, reconciliation } = await at.arbiter.upkeep.telecollect();
      const exponent = currencyOf(at.defaultCurrency)?.exponent ?? 2;
      return {
        NbApp: String(applications.length),
        App: applications.map(({ name, status, count, sumMinor }) => ({
          Name: name,
          Status: status,
          Count: String(count),
          Sum: formatMajor(sumMinor, exponent),
        })),
        ticket,
        reconciliation: reconciliation && reconciliationView(reconciliation, at),
      };
    },
  }),

  call({
    path: "/terminal/accept",
    role: "own-operator",
    document: ({ message }) => ({ answer: message, errors: ["TERMINAL_DISCONNECTED"] }),
    handle(_, { arbiter }) {
      const identity = arbiter.identityCheck.accept();
      const name = identity.terminalId || identity.serialNumber || "without a name";
      return { ...success, message: `Terminal ${name} is accepted.` };
    },
  }),

  call({
    path: "/check",
    reads: true,
    query: z.strictObject({ fresh: oneOf(["yes"]).optional() }),
    document: ({ check }) => ({ answer: check }),
    async handle({ query: { fresh } }, at) {
      const { status, atMs } = await check(at, fresh === "yes");
      return { ...asAPaymentFinds(status, at), asOf: isoTime(atMs) };
    },
  }),

  // The answer also has `version`, the connector's, so the terminal's is `terminalVersion`.
  call({
    path: "/config",
    reads: true,
    document: () => ({
      answer: z.object({
        ...version,
        serialNumber: z.string(),
        deviceId: z.string(),
        terminalId: z.string(),
        terminalVersion: z.string(),
      }),
    }),
    handle(_, { arbiter }) {
      const { version: terminalVersion, ...identity } = arbiter.terminal.state.identity;
      return { ...identity, terminalVersion, ...versionBody };
    },
  }),

  call({
    path: "/version",
    reads: true,
    document: () => ({
      answer: z.object({
        ...version,
        supportedUntil: z.iso.date().optional().describe("Missing in a checkout of the sources."),
      }),
    }),
    handle: () => ({ ...versionBody, supportedUntil }),
  }),
];

/** Returns the terminal's status; while payments are refused, "ready" becomes 2 (action needed). */
function asAPaymentFinds(status: TerminalStatus, { arbiter }: CallContext): TerminalStatus {
  const [reason] = arbiter.notReadyReasons;
  if (status.cr !== "0" || !reason) return status;
  return { ...status, cr: "2", detail: reason.says };
}

/** Returns the terminal's status. A terminal without a link, or during a payment, is not asked. */
async function check({ arbiter, clock }: CallContext, isFresh: boolean) {
  const now = (status: TerminalStatus) => ({ status, atMs: clock.now() });
  const { link, linkProblem, status } = arbiter.terminal.state;
  const noLink: TerminalStatus = {
    cr: "9",
    card: "0",
    call: "0",
    periph: "0",
    detail: linkProblem ?? link,
  };
  if (link !== "connected") return now(noLink);
  if (arbiter.lease.current !== undefined) {
    return now({ ...(status ?? noLink), cr: "1", detail: "a payment is running" });
  }
  if (!isFresh && arbiter.lastAnswer.kept) return arbiter.lastAnswer.kept;
  try {
    return await arbiter.lastAnswer.ask();
  } catch (error) {
    if (error instanceof TerminalUnavailable && error.reason === "busy") {
      return now({ ...(status ?? noLink), cr: "1", detail: error.message });
    }
    return now({ ...noLink, detail: (error as Error).message });
  }
}
