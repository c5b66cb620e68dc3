import { exitCodes } from "../../shared/process/exit-codes.ts";
import { announceReady } from "../ready-file.ts";
import { LOGIN_LENGTH_DESCRIBED } from "./account.ts";
import type { SandboxOptions } from "./parts.ts";
import { startGatewaySandbox } from "./sandbox.ts";
import { readCommandLine } from "./switches.ts";

async function run(options: SandboxOptions, readyFile: string | null): Promise<void> {
  for (const { login } of options.accounts) {
    const { length } = [...login];
    if (length <= LOGIN_LENGTH_DESCRIBED) continue;
    console.error(
      `warning: the login ${login} has ${length} characters; the gateway's description allows ` +
        `${LOGIN_LENGTH_DESCRIBED}, although the gateway issues longer logins too`,
    );
  }
  const sandbox = await startGatewaySandbox(options);
  console.log(`listening ${sandbox.url}`);
  announceReady(readyFile, { url: sandbox.url }, () =>
    sandbox.close().then(() => process.exit(exitCodes.ok), fail),
  );
}

function fail(error: unknown): never {
  console.error(`the sandbox failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(exitCodes.internal);
}

const asked = readCommandLine(process.argv.slice(2));
switch (asked.ask) {
  case "help":
    process.stdout.write(asked.text);
    break;
  case "wrong":
    console.error(`gateway sandbox: ${asked.problem}\nTry --help for every switch.`);
    process.exitCode = exitCodes.usage;
    break;
  case "start":
    await run(asked.options, asked.readyFile).catch(fail);
    break;
}
