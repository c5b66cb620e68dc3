import { resolve } from "node:path";
import { defaultDataDirectory } from "../shared/version-files.ts";
import { answerWithinDefaultMs, keepAlive } from "./commands/keep-alive.ts";

/**
 * The entry of launch.sh, launch.cmd, always-up.sh and always-up.cmd. At first only the check of
 * the keep-alive is loaded, because it runs every two minutes, also on a small machine.
 */
const [first, second, third, ...others] = process.argv.slice(2);
const plainKeepAlive =
  first === "keep-alive" &&
  others.length === 0 &&
  (second === undefined || (second === "--data" && third !== undefined && third !== ""));

if (plainKeepAlive) {
  const data = resolve(third ?? defaultDataDirectory);
  process.exitCode = await keepAlive(data, answerWithinDefaultMs);
} else {
  const { runCommand } = await import("./launch.ts");
  process.exitCode = await runCommand(process.argv.slice(2));
}
