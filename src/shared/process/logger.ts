import { type DestinationStream, multistream, type Logger as PinoLogger, pino } from "pino";
import type { Config } from "../config/schema.ts";
import { cleanLine, withoutSecrets } from "../masking/log-cleaning.ts";
import { maskPansInUrl } from "../masking/mask.ts";
import { openLogFile } from "./log-file.ts";

/** The interface that parts of a program log with: `log.info({transactionId}, "paid")`. */
export type Logger = Pick<PinoLogger, "debug" | "info" | "warn" | "error" | "fatal">;
export type RootLogger = PinoLogger;

/**
 * Returns a logger that writes one JSON line per event. Secrets are removed by name, and every line
 * is searched for card numbers, which callers mask already (docs/design.md 6.2).
 */
export function createLogger(options: {
  readonly program: string;
  readonly level: Config["LOG_LEVEL"];
  /** The log file, made with its folder if missing; a crash loses no line. */
  readonly file?: string;
  /** A second stream, for a program that runs in the foreground. */
  readonly stream?: DestinationStream;
}): RootLogger {
  const streams: Array<{ level: Config["LOG_LEVEL"]; stream: DestinationStream }> = [];
  if (options.file) streams.push({ level: options.level, stream: openLogFile(options.file) });
  if (options.stream) streams.push({ level: options.level, stream: options.stream });
  // All streams have the level of the logger.
  const [only] = streams.length === 1 ? streams : [];
  const log = pino(
    {
      level: options.level,
      base: { program: options.program },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: withoutSecrets,
      },
      serializers: { err: (cleaned) => cleaned, req: describeRequest, res: describeResponse },
      hooks: { streamWrite: cleanLine },
    },
    only?.stream ?? multistream(streams),
  );
  cleanChildren(log);
  return log;
}

/** Cleans the fields of child loggers, which pino's formatters do not reach. */
function cleanChildren(log: RootLogger): void {
  const child = log.child;
  log.child = function cleanedChild(this: RootLogger, bindings, options) {
    return child.call(this, withoutSecrets(bindings), options);
  } as RootLogger["child"];
}

/** Returns what is logged of a request; its headers are left out, because they hold credentials. */
function describeRequest(request: { method?: string; url?: string }): object {
  return { method: request?.method, url: request?.url && maskPansInUrl(request.url) };
}

function describeResponse(response: { statusCode?: number }): object {
  return { statusCode: response?.statusCode };
}
