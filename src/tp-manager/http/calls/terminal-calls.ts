import { z } from "zod";
import { currencyOf, formatMajor } from "../../../shared/money.ts";
import { osName, versionNumber } from "../../../shared/process/installation.ts";
import { isoTime } from "../../../shared/time.ts";
import { type TerminalStatus, TerminalUnavailable } from "../../terminal/terminal.ts";
import { oneOf } from "../body/input.ts";
import { type AnyCall, call } from "../call.ts";
import type { CallContext } from "../call-context.ts";
import { jsonText, sendText, success } from "../envelope.ts";
import { reconciliationView } from "./reconciliation-calls.ts";

/** How long `/check` waits for the terminal. */
const CHECK_LIMIT_MS = 10_000;

/** The type of an unattended terminal's connector (docs/design.md 12.8). */
const APPLICATION_TYPE = "tpa";

const version = {
  version: z.string().describe("The connector's: number, type and system."),
  type: z.literal(APPLICATION_TYPE),
  os: z.string(),
};
/** The answer of `/version` is the same as long as the program runs. */
const versionText = jsonText([versionBody()]);
const versionExample = { version: "0.1.0-tpa-linux_x64", type: "tpa", os: "linux_x64" } as const;

/** The terminal's own affairs: restart, end of day, what it is and how it is. */
export const terminalCalls: readonly AnyCall[] = [
  call({
    path: "/reset",
    methods: ["GET", "POST"],
    role: "operator",
    summary: "Restart the terminal and wait until it is back",
    document: ({ says }) => ({
      ...says("The terminal has restarted and is registered."),
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
    summary: "Telecollection: the terminal's end of day",
    description:
      "`NbApp`, `App` with `Name`, `Status`, `Count`, `Sum`, the ticket, and the comparison with " +
      "the journal (`GET /reconciliation`). Runs by itself too when the terminal demands it " +
      "(`AUTO_END_OF_DAY`).",
    document: ({ errors, reconciliation, like }) => ({
      answer: z.object({
        NbApp: like(z.string(), "1"),
        App: like(
          z.array(
            z.object({ Name: z.string(), Status: z.string(), Count: z.string(), Sum: z.string() }),
          ),
          [{ Name: "Mastercard", Status: "0", Count: "2", Sum: "19.98" }],
        ),
        ticket: like(z.string(), "END OF DAY|…"),
        reconciliation: reconciliation
          .nullable()
          .describe("As in GET /reconciliation; null: it could not be written."),
      }),
      // A terminal that takes no cards until its end of day is asked for it all the same.
      errors: [
        ...errors.terminal.filter((code) => code !== "TERMINAL_OUT_OF_ORDER"),
        "TELECOLLECTION_FAILED",
        "OPEN_PRE_AUTHORISATIONS",
        "NOT_SUPPORTED",
      ],
    }),
    async handle(_, { arbiter, listings, acknowledged, defaultCurrency }) {
      const { applications, ticket, reconciliation } = await arbiter.upkeep.telecollect();
      const exponent = currencyOf(defaultCurrency)?.exponent ?? 2;
      return {
        NbApp: String(applications.length),
        App: applications.map(({ name, status, count, sumMinor }) => ({
          Name: name,
          Status: status,
          Count: String(count),
          Sum: formatMajor(sumMinor, exponent),
        })),
        ticket,
        reconciliation:
          reconciliation && reconciliationView(listings.comparedDay(reconciliation), acknowledged),
      };
    },
  }),

  call({
    path: "/terminal/accept",
    role: "own-operator",
    summary: "Accept a replaced terminal",
    document: ({ says }) => ({
      ...says("Terminal 52500001 is accepted."),
      errors: ["TERMINAL_DISCONNECTED"],
    }),
    handle(_, { arbiter }) {
      const identity = arbiter.identityCheck.accept();
      const name = identity.terminalId || identity.serialNumber || "without a name";
      return { ...success, message: `Terminal ${name} is accepted.` };
    },
  }),

  call({
    path: "/check",
    reads: true,
    summary: "The terminal's status, without side effects",
    query: z.strictObject({
      fresh: oneOf(["yes"]).optional().describe("`yes` asks the terminal whatever is known."),
    }),
    description:
      "`cr` 0 a payment is taken 1 busy 2 action needed 9 no link · `card` 0 none 1 in " +
      "reader · `call` 1 a host call or an end of day is due · `periph` 0 good 1 reader " +
      "2 printer 3 other · `detail` in words · `asOf` when this was so: an " +
      "answer of the terminal is repeated for 2 s while " +
      "nothing is heard of the terminal",
    document: ({ like }) => ({
      answer: z.object({
        cr: z.enum(["0", "1", "2", "9"]),
        card: z.enum(["0", "1"]),
        call: z.enum(["0", "1"]),
        periph: z.enum(["0", "1", "2", "3"]),
        detail: like(z.string(), "ready"),
        asOf: like(z.string(), "2026-01-15T11:59:58.321Z").describe(
          "When the terminal reported this, or this was known without it.",
        ),
      }),
      errors: [],
    }),
    async handle({ query: { fresh } }, at) {
      const { status, atMs } = await check(at, fresh === "yes");
      return { ...asAPaymentFinds(status, at), asOf: isoTime(atMs) };
    },
  }),

  // `/config` has the three fields of `/version` (docs/design.md 12.8), so the terminal's own
  // version has a name of its own.
  call({
    path: "/config",
    reads: true,
    summary: "The terminal's identity",
    description:
      '`serialNumber`, `deviceId`, `terminalId`, `terminalVersion`, "" where it does not say; ' +
      "and `/version`.",
    document: ({ like }) => ({
      answer: like(
        z.object({
          ...version,
          serialNumber: like(z.string(), "SN-1"),
          deviceId: z.string(),
          terminalId: like(z.string(), "52500001"),
          terminalVersion: like(z.string(), "1.0").describe("The terminal's own."),
        }),
        versionExample,
      ),
      errors: [],
    }),
    handle(_, { arbiter }) {
      const { version: terminalVersion, ...identity } = arbiter.terminal.state.identity;
      return { ...identity, terminalVersion, ...versionBody() };
    },
  }),

  call({
    path: "/version",
    reads: true,
    summary: "Version of the connector: number, type and system",
    document: () => ({ answer: z.object(version), example: versionExample, errors: [] }),
    handle: ({ reply }) => sendText(reply, 200, versionText),
  }),
];

/** A terminal that is ready, and of which a payment would be refused all the same, is not. */
function asAPaymentFinds(status: TerminalStatus, { arbiter }: CallContext): TerminalStatus {
  const [reason] = arbiter.notReadyReasons;
  if (status.cr !== "0" || !reason) return status;
  return { ...status, cr: "2", detail: reason.says };
}

/** While a payment runs, and without a link, from what is known: nothing goes on the wire. */
async function check(
  { arbiter, clock }: CallContext,
  isFresh: boolean,
): Promise<{ status: TerminalStatus; atMs: number }> {
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
    return await arbiter.lastAnswer.ask(AbortSignal.timeout(CHECK_LIMIT_MS));
  } catch (error) {
    if (error instanceof TerminalUnavailable && error.reason === "busy") {
      return now({ ...(status ?? noLink), cr: "1", detail: error.message });
    }
    return now({ ...noLink, detail: (error as Error).message });
  }
}

function versionBody() {
  const os = osName();
  return {
    version: `${versionNumber}-${APPLICATION_TYPE}-${os}`,
    type: APPLICATION_TYPE,
    os,
  } as const;
}
