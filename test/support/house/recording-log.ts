import { type AlarmLog, createLogger, type Logger } from "../../../src/shared/process/logger.ts";

/** Returns a logger whose lines a test can read; a test may log alarms with it. */
export function recordingLog(): { log: AlarmLog; lines: string[] } {
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(line) };
  return {
    log: createLogger({ program: "test", level: "debug", stream }) as Logger as AlarmLog,
    lines,
  };
}
