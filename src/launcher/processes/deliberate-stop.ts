/*
 * When an operator stops the programs, a file records the stop until the next start: until then the
 * keep-alive starts nothing, not even after a reboot (docs/design.md 9.2). The keep-alive loads
 * this module every two minutes, so the module stays small.
 */

const { existsSync, readFileSync, rmSync, statSync, writeFileSync } =
  process.getBuiltinModule("node:fs");

/** Returns the file that records a stop, and the file in which older versions recorded a stop. */
const marksIn = (dataDirectory: string): readonly [string, string] => [
  `${dataDirectory}/stopped`,
  `${dataDirectory}/run/stopped`,
];

/** Records a stop that an operator requests; the data folder has to exist. */
export function recordStop(dataDirectory: string, nowMs: number): void {
  const [file] = marksIn(dataDirectory);
  try {
    writeFileSync(file, new Date(nowMs).toISOString());
  } catch (error) {
    // On a full disk the file is created without content, which is enough to record the stop.
    if (!existsSync(file)) throw error;
  }
}

export function forgetStop(dataDirectory: string): void {
  for (const file of marksIn(dataDirectory)) rmSync(file, { force: true });
}

export function isStoppedOnPurpose(dataDirectory: string): boolean {
  return marksIn(dataDirectory).some((file) => existsSync(file));
}

/** Returns the time of an operator's stop; undefined: the programs are to run. */
export function deliberateStop(dataDirectory: string): string | undefined {
  const file = marksIn(dataDirectory).find((mark) => existsSync(mark));
  if (file === undefined) return undefined;
  return readFileSync(file, "utf8") || statSync(file).mtime.toISOString();
}
