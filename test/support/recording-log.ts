import { createLogger, type Logger } from "../../src/shared/process/logger.ts";

/** A logger whose lines a test can read. */
export function recordingLog(): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(line) };
  return { log: createLogger({ program: "test", level: "debug", stream }), lines };
}
