import { spawnSync } from "node:child_process";

/** Whether the machine has a program; asked for its version, which all of ours can print. */
export function hasTool(name: string): boolean {
  return spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0;
}
