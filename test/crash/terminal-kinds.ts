import type { InstallationOptions } from "../support/programs/installation.ts";

/** A simulated terminal and the settings of the connector for it. */
export interface TerminalKind {
  readonly line: "tcp" | "pty";
  /** Only the terminal's own connection for a payment can bring its result. */
  readonly isBare: boolean;
  readonly switches: readonly string[];
  readonly config: NonNullable<InstallationOptions["config"]>;
}

/** An installation has one of these; a plan says which of them it wants. */
export const terminalNames = [
  "zvt",
  "concert, tcp",
  "concert, pty",
  "caisse-ap, bare",
  "caisse-ap, session",
] as const;
export type TerminalName = (typeof terminalNames)[number];

const pace = { "customer-delay": 40, "host-delay": 20, reboot: 200 };

/** `zvtLine`: a serial line is a pseudo-terminal, which only Linux has. */
export function terminalKind(name: TerminalName, zvtLine: "tcp" | "pty"): TerminalKind {
  switch (name) {
    case "zvt":
      return zvt(zvtLine);
    case "concert, tcp":
      return oneWay("tcp", ["--protocol", "concert"], { TERMINAL_PROTOCOL: "concert" });
    case "concert, pty": {
      const line = process.platform === "linux" ? "pty" : "tcp";
      return oneWay(line, ["--protocol", "concert"], { TERMINAL_PROTOCOL: "concert" });
    }
    case "caisse-ap, bare":
    case "caisse-ap, session": {
      const isBare = name === "caisse-ap, bare";
      const config = { CAISSE_AP_LINK: isBare ? "bare" : "session" };
      const switches = ["--protocol", "caisse-ap", ...(isBare ? [] : ["--session"])];
      return {
        ...oneWay("tcp", switches, { ...config, TERMINAL_PROTOCOL: "caisse-ap" }),
        isBare,
      };
    }
  }
}

function zvt(line: "tcp" | "pty"): TerminalKind {
  const timers = { ...pace, reversal: 40, t2: 150, t3: 400, t4: 1_500 };
  return {
    line,
    isBare: false,
    switches: ["--vending", ...inMilliseconds(timers)],
    config: {
      ZVT_T2_MS: 300,
      ZVT_T3_MS: 400,
      ZVT_T4_MS: 1_500,
      // The simulated terminal takes a sale back until its receipt gets its ACK.
      ZVT_PRINTS_COUNT: "yes",
      POLL_INTERVAL_MS: 500,
      RECOVERY_SILENCE_MS: 150,
    },
  };
}

/** A result that got no ACK is reported again for as long as the terminal has power. */
function oneWay(
  line: "tcp" | "pty",
  switches: readonly string[],
  config: TerminalKind["config"],
): TerminalKind {
  const timers = { ...pace, "enq-pause": 200 };
  return {
    line,
    isBare: false,
    switches: [...switches, "--enq-tries", "0", ...inMilliseconds(timers)],
    config: { ...config, PAYMENT_TIMEOUT: 2, PAYMENT_GRACE: 1, RECOVERY_SILENCE_MS: 50 },
  };
}

const inMilliseconds = (timers: Readonly<Record<string, number>>): string[] =>
  Object.entries(timers).flatMap(([name, ms]) => [`--${name}-ms`, `${ms}`]);
