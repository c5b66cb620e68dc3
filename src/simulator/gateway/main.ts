import { renameSync, rmSync, writeFileSync } from "node:fs";
import { announcePresence } from "../../shared/presence.ts";
import { LOGIN_LENGTH_DESCRIBED } from "./account.ts";
import { startGatewaySandbox } from "./sandbox.ts";
import { type CommandLine, helpText, readCommandLine, UsageError } from "./switches.ts";

/** Exit codes of docs/design.md 9.3. */
const EXIT_OK = 0;
const EXIT_USAGE = 64;
const EXIT_INTERNAL = 70;

function commandLine(): CommandLine {
  try {
    return readCommandLine(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`gateway sandbox: ${error.message}\nTry --help for every switch.`);
    process.exit(EXIT_USAGE);
  }
}

async function run({ options, readyFile }: CommandLine & { help: false }): Promise<void> {
  for (const { login } of options.accounts) warnOfLongLogin(login);
  const sandbox = await startGatewaySandbox(options);
  console.log(`listening ${sandbox.url}`);
  if (readyFile !== undefined && process.platform !== "linux") announcePresence(readyFile);
  if (readyFile !== undefined) writeReadyFile(readyFile, sandbox.url);
  const stop = async (): Promise<void> => {
    if (readyFile !== undefined) rmSync(readyFile, { force: true });
    await sandbox.close();
    process.exit(EXIT_OK);
  };
  for (const signal of ["SIGTERM", "SIGINT", "SIGBREAK"] as const) {
    process.once(signal, () => stop().catch(fail));
  }
}

function warnOfLongLogin(login: string): void {
  const { length } = [...login];
  if (length <= LOGIN_LENGTH_DESCRIBED) return;
  console.error(
    `warning: login ${login} has ${length} characters, the description allows ` +
      `${LOGIN_LENGTH_DESCRIBED}; the gateway issues longer ones all the same`,
  );
}

/** Whoever waits for the file never reads half of it. */
function writeReadyFile(path: string, url: string): void {
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, `${JSON.stringify({ url })}\n`);
  renameSync(unfinished, path);
}

function fail(error: unknown): never {
  console.error(`gateway sandbox: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(EXIT_INTERNAL);
}

const wanted = commandLine();
if (wanted.help) process.stdout.write(helpText());
else await run(wanted).catch(fail);
