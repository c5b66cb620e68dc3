/** The part of a logger that the driver needs; pino has it. */
export interface Log {
  debug(details: object, text: string): void;
  info(details: object, text: string): void;
  warn(details: object, text: string): void;
  error(details: object, text: string): void;
}
