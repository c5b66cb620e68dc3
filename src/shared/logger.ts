import { type DestinationStream, multistream, type Logger as PinoLogger, pino } from "pino";
import { maskPansInText } from "./mask.ts";

/** What the parts of a program log with: `log.info({transactionId}, "what happened")`. */
export type Logger = Pick<PinoLogger, "debug" | "info" | "warn" | "error" | "fatal">;
export type RootLogger = PinoLogger;

export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

/** Names that hold secrets or card data wherever they turn up in a logged object. */
const secretNames = [
  "password",
  "wsPassword",
  "pwd",
  "authorization",
  "Authorization",
  "TERMINAL_MANAGER_PWD",
  "GATEWAY_PWD",
  "OPERATOR_PWD",
  "token",
  "track1",
  "track2",
  "track3",
  "pan",
  "redirectUrl",
];

const redactPaths = secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

/**
 * One JSON line per event. Secrets are removed by name, and every line is searched for card numbers
 * once more before it leaves (DESIGN 6): the second net, not the first.
 */
export function createLogger(options: {
  readonly program: string;
  readonly level: LogLevel;
  /** A file, made with its folder when missing. Written synchronously: a crash loses no line. */
  readonly file?: string;
  /** Also to this stream, for a program that runs in the foreground. */
  readonly stream?: DestinationStream;
}): RootLogger {
  const streams: Array<{ level: LogLevel; stream: DestinationStream }> = [];
  if (options.file) {
    streams.push({
      level: options.level,
      stream: pino.destination({ dest: options.file, mkdir: true, sync: true, mode: 0o640 }),
    });
  }
  if (options.stream) streams.push({ level: options.level, stream: options.stream });
  return pino(
    {
      level: options.level,
      base: { program: options.program },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: redactPaths, censor: "[removed]" },
      hooks: { streamWrite: maskPansInText },
    },
    multistream(streams),
  );
}
