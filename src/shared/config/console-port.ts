import { PORT_MAX } from "./port-max.ts";
import type { Config } from "./schema.ts";

/** The port of the operator's console; undefined: there is none (docs/console.md 1). */
export function consolePortOf({
  CONSOLE_PORT: given,
  LOCAL_PORT: local,
  NOTIFICATION_PORT: taken,
}: Pick<Config, "CONSOLE_PORT" | "LOCAL_PORT" | "NOTIFICATION_PORT">): number | undefined {
  if (given !== undefined) return given === 0 ? undefined : given;
  // The gateway's notifications are worth more than a page.
  const port = local + 1 === taken ? local + 2 : local + 1;
  return port <= PORT_MAX ? port : undefined;
}
