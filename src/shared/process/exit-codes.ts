/** Exit codes of every program (docs/design.md 9.3; numbers as in BSD sysexits). */
export const exitCodes = {
  ok: 0,
  usage: 64,
  unavailable: 69,
  internal: 70,
  alreadyRunning: 75,
  configuration: 78,
} as const;

/** Whether a program ended by a fault of its own, not because of the disk, a lock or the setup. */
export function isOwnFault(exitCode: number): boolean {
  const { unavailable, alreadyRunning, configuration } = exitCodes;
  return ![unavailable, alreadyRunning, configuration].some((code) => code === exitCode);
}

type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** An error that ends the program with an exit code and a reason for people. */
export class ProgramExit extends Error {
  override readonly name = "ProgramExit";
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
