import type { Config } from "../../shared/config/config.ts";
import type { Logger } from "../../shared/logger.ts";
import { currencyOf } from "../../shared/money.ts";
import type { Clock } from "../../shared/time.ts";
import type { Terminal } from "./terminal.ts";
import { createTransport } from "./transport/open-transport.ts";
import { profileOptions } from "./zvt/profiles.ts";
import { createZvtTerminal } from "./zvt/zvt-terminal.ts";

/** The driver for TERMINAL_PROTOCOL. The only place that knows all drivers. */
export function createTerminal(config: Config, clock: Clock, log: Logger): Terminal {
  switch (config.TERMINAL_PROTOCOL) {
    case "zvt":
      return createZvt(config, clock, log);
  }
}

function createZvt(config: Config, clock: Clock, log: Logger): Terminal {
  const profile = profileOptions(config.ZVT_PROFILE);
  const line = { baudRate: config.SERIAL_BAUD, stopBits: config.SERIAL_STOP_BITS } as const;
  return createZvtTerminal({
    transport: createTransport(config.SERIAL_PORT, line, clock),
    clock,
    log,
    options: {
      ...profile,
      password: config.TERMINAL_PASSWORD,
      configByte: Number.parseInt(config.ZVT_CONFIG_BYTE, 16),
      registrationCurrency: `0${currencyOf(config.CURRENCY)?.numeric}`,
      timers: {
        t1Ms: config.ZVT_T1_MS,
        t2Ms: config.ZVT_T2_MS,
        t3Ms: config.ZVT_T3_MS,
        t4Ms: config.ZVT_T4_MS,
      },
      pollIntervalMs: Math.min(
        config.POLL_INTERVAL_MS,
        profile.pollIntervalMs ?? config.POLL_INTERVAL_MS,
      ),
      silenceMs: config.RECOVERY_SILENCE_MS,
      restartPauseMs: config.RECOVERY_SILENCE_MS,
      charset: config.ZVT_CHARSET ?? profile.charset ?? "cp437",
      printerWidth: config.TICKET_WIDTH,
      sendLastReceipt: config.ZVT_SEND_LAST_RECEIPT,
      logOffOnClose: config.ZVT_LOG_OFF,
      messageIds: config.ZVT_MESSAGE_IDS === "auto",
      language: config.LANGUAGE,
    },
  });
}
