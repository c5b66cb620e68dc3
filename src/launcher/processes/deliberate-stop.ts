/*
 * A stop that an operator asked for is written down, so that the keep-alive leaves it alone, also
 * after a reboot, until the next start (docs/design.md 9.2). The keep-alive loads this file every
 * two minutes, so it stays small.
 */

const { existsSync, readFileSync, rmSync, statSync, writeFileSync } =
  process.getBuiltinModule("node:fs");

/** The file of the mark; the second one was written by older versions and is read as well. */
const marksIn = (dataDirectory: string): readonly [string, string] => [
  `${dataDirectory}/stopped`,
  `${dataDirectory}/run/stopped`,
];

/** Records a stop that an operator asks for; the data folder has to exist. */
export function recordStop(dataDirectory: string, nowMs: number): void {
  const [file] = marksIn(dataDirectory);
  try {
    writeFileSync(file, new Date(nowMs).toISOString());
  } catch (error) {
    // On a full disk the file is there all the same, without content.
    if (!existsSync(file)) throw error;
  }
}

export function forgetStop(dataDirectory: string): void {
  for (const file of marksIn(dataDirectory)) rmSync(file, { force: true });
}

export function isStoppedOnPurpose(dataDirectory: string): boolean {
  return marksIn(dataDirectory).some((file) => existsSync(file));
}

/** The time of an operator's stop; undefined when the programs are to run. */
export function deliberateStop(dataDirectory: string): string | undefined {
  const file = marksIn(dataDirectory).find((mark) => existsSync(mark));
  if (file === undefined) return undefined;
  return readFileSync(file, "utf8") || statSync(file).mtime.toISOString();
}
