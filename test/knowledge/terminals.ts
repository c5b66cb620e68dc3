import type { Terminal } from "../../src/tp-manager/terminal/terminal.ts";
import type { Life } from "../simulation/life.ts";
import { AskedTerminal } from "./asked-terminal.ts";
import type { Family } from "./assumptions.ts";
import { ByIdTerminal } from "./by-id-terminal.ts";
import { oneWayTerminal } from "./one-way-line.ts";
import type { World } from "./world.ts";

/** The driver of one life, for the device of a world. */
export function terminalOf(world: World, life: Life, family: Family): Terminal {
  if (family === "by-id") return new ByIdTerminal(world, life);
  return family === "zvt" ? new AskedTerminal(world, life) : oneWayTerminal(world, life, family);
}
