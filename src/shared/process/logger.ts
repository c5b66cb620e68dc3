import { type DestinationStream, multistream, type Logger as PinoLogger, pino } from "pino";
import type { AlarmName } from "../catalog/alarms.ts";
import type { Config } from "../config/schema.ts";
import { cleanLine, withoutSecrets } from "../masking/log-cleaning.ts";
import { maskPansInUrl } from "../masking/mask.ts";
import { openLogFile } from "./log-file.ts";

export interface LineFields<Alarm = AlarmName> {
  readonly alarm?: Alarm;
  readonly [field: string]: unknown;
}

interface WriteLine<Alarm> {
  (fields: LineFields<Alarm>, message?: string): void;
  (line: string | Error): void;
}

/**
 * The log that most parts of a program get: `log.info({transactionId}, "paid")`. Its lines reach
 * only the log file, so its type refuses the field `alarm`.
 */
export interface Logger {
  readonly debug: WriteLine<never>;
  readonly info: WriteLine<never>;
  readonly warn: WriteLine<never>;
  readonly error: WriteLine<never>;
  readonly fatal: WriteLine<never>;
}

/** A log made by `tapAlarms`, whose lines with the field `alarm` also reach the operator. */
export interface AlarmLog extends Logger {
  readonly warn: WriteLine<AlarmName>;
  readonly error: WriteLine<AlarmName>;
  readonly fatal: WriteLine<AlarmName>;
}

/** The log of a whole program; `child` returns a log that adds fields to each line. */
export interface RootLogger extends Logger {
  level: string;
  child(fields: LineFields<never>): RootLogger;
}

/**
 * Returns a logger that writes JSON lines. It removes secrets by the names of their fields, and
 * masks card numbers in every line, although callers mask them too (docs/design.md 6.2).
 */
export function createLogger(options: {
  readonly program: string;
  readonly level: Config["LOG_LEVEL"];
  /** The path of the log file; the file and its folder are made if they are missing. */
  readonly file?: string;
  readonly stream?: DestinationStream;
}): RootLogger {
  const streams: Array<{ level: Config["LOG_LEVEL"]; stream: DestinationStream }> = [];
  if (options.file) streams.push({ level: options.level, stream: openLogFile(options.file) });
  if (options.stream) streams.push({ level: options.level, stream: options.stream });
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

/** Removes secrets from the fields of child loggers, which pino's formatters do not reach. */
function cleanChildren(log: PinoLogger): void {
  const child = log.child;
  log.child = function cleanedChild(this: PinoLogger, bindings, options) {
    return child.call(this, withoutSecrets(bindings), options);
  } as PinoLogger["child"];
}

/** Returns what is logged of an HTTP request: not its headers, which may hold credentials. */
function describeRequest(request: { method?: string; url?: string }): object {
  return { method: request?.method, url: request?.url && maskPansInUrl(request.url) };
}

function describeResponse(response: { statusCode?: number }): object {
  return { statusCode: response?.statusCode };
}
