import { readFileSync } from "node:fs";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { exitCodes } from "../src/shared/process/exit-codes.ts";

/** Returns how the program is called, from the comment at the beginning of its file. */
function usage(): string {
  const [comment = ""] = readFileSync(String(process.argv[1]), "utf8").split(" */", 1);
  const calls = [...comment.matchAll(/^ \* {3}(.*)$/gm)].map(([, call]) => call);
  return `usage: ${calls.join("\n       ")}\n`;
}

/** Ends the program with its usage; `because`: lines that say what is wrong with the call. */
export function misused(because = ""): never {
  process.stderr.write(because + usage());
  process.exit(exitCodes.usage);
}

/** Returns the arguments as `parseArgs` does; `--help` ends the program with its usage. */
export function readArguments<const T extends ParseArgsConfig>(
  config: T,
): ReturnType<typeof parseArgs<T>> {
  if (process.argv.includes("--help")) {
    process.stdout.write(usage());
    process.exit(exitCodes.ok);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    return misused(`${(error as Error).message}\n`);
  }
}
