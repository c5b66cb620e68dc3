import type { AlarmLog } from "../../../src/shared/process/logger.ts";
import { OneWayTerminal } from "../../../src/tp-manager/terminal/one-way/one-way-terminal.ts";
import type { Terminal } from "../../../src/tp-manager/terminal/terminal.ts";
import { defaultSettings } from "../../support/house/payment-house.ts";
import { ByIdDevice } from "../by-id/by-id-device.ts";
import { ByIdDriver } from "../by-id/by-id-driver.ts";
import type { Life } from "../life.ts";
import { ModelDevice } from "../model-device.ts";
import { type DriverWatch, ModelTerminal } from "../model-terminal.ts";
import { messagesOf } from "./model-messages.ts";
import { OneWayDevice, type OneWayParts } from "./one-way-device.ts";
import type { OneWayKind } from "./one-way-kinds.ts";
import { OneWayLine } from "./one-way-line.ts";

const SILENCE_MS = 10_000;

type DeviceParts = Omit<OneWayParts, "kind"> & { readonly serial: string };

/** The device of a run. */
export function deviceOf(kind: OneWayKind | "by-id" | undefined, parts: DeviceParts): ModelDevice {
  const { clock, bank, serial, next } = parts;
  if (kind === "by-id") return new ByIdDevice(parts);
  return kind ? new OneWayDevice({ kind, ...parts }) : new ModelDevice(clock, bank, serial, next);
}

/**
 * The driver of one process's life: the model of one for a model terminal; the product's own for a
 * terminal that cannot be asked, with its messages.
 */
export function driverOf(
  life: Life,
  watch: DriverWatch,
  log: AlarmLog,
): { readonly terminal: Terminal; readonly model: ModelTerminal | undefined } {
  const device = watch.device();
  if (device instanceof ByIdDevice) {
    const now = (): ByIdDevice => watch.device() as ByIdDevice;
    return { terminal: new ByIdDriver(life, watch, now), model: undefined };
  }
  if (!(device instanceof OneWayDevice)) {
    const model = new ModelTerminal(life, watch);
    return { terminal: model, model };
  }
  const leaves = (): string => {
    const order = watch.order();
    watch.leaves("payment", order);
    return order;
  };
  const terminal = new OneWayTerminal({
    messages: messagesOf(device.kind),
    dialogue: new OneWayLine(life, device, leaves),
    clock: life.clock,
    log,
    waitMs: defaultSettings.paymentTimeoutMs + defaultSettings.graceMs,
    quietMs: defaultSettings.paymentTimeoutMs + SILENCE_MS,
    silenceMs: SILENCE_MS,
  });
  terminal.start();
  return { terminal, model: undefined };
}
