/** Exit codes of every program (docs/design.md 9.3; numbers as in BSD sysexits). */
export const exitCodes = {
  ok: 0,
  usage: 64,
  unavailable: 69,
  internal: 70,
  alreadyRunning: 75,
  configuration: 78,
} as const;

/** Whether the program itself is at fault, and not the disk, another program or the setup. */
export function isOwnFault(exitCode: number): boolean {
  const { unavailable, alreadyRunning, configuration } = exitCodes;
  return ![unavailable, alreadyRunning, configuration].some((code) => code === exitCode);
}

type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends a program with a reason for people. Thrown to the top, never used for control flow. */
export class ProgramExit extends Error {
  override readonly name = "ProgramExit";
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
