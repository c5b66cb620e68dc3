import type { Config } from "../../shared/config/config.ts";
import {
  type ConfigFields,
  type ConfigPart,
  metaOf,
  oneOf,
  type ValueFault,
  valuesOf,
  yesNo,
} from "../../shared/config/config-field.ts";
import { sharedFields } from "../../shared/config/schema.ts";
import { invariant } from "../../shared/invariant.ts";
import { caisseApDriver } from "./caisse-ap/caisse-ap-driver.ts";
import { concertDriver } from "./concert/concert-driver.ts";
import { type Driver, withTexts } from "./driver.ts";
import { nexoDriver } from "./nexo/nexo-driver.ts";
import { zvtDriver } from "./zvt/zvt-driver.ts";

/** All terminal drivers; the first is the default. No other file lists the drivers. */
const drivers: readonly [Driver, ...Driver[]] = [
  zvtDriver,
  concertDriver,
  caisseApDriver,
  nexoDriver,
];

const [{ protocol: first }, ...others] = drivers;

const choice = withTexts({
  TERMINAL_PROTOCOL: oneOf([first, ...others.map(({ protocol }) => protocol)]).default(first),
});
/** Allows shorter times than a real terminal needs: for simulators only. */
const testTimers = withTexts({ TEST_TIMERS: yesNo.default(false) });

const fields: ConfigFields = Object.assign({}, choice, ...drivers.map((one) => one.config.fields));

/** Settings that all drivers add to the setup file. */
export const protocolPart: ConfigPart = {
  title: "Protocol",
  fields: { ...fields, ...testTimers },
  check: (values) => [
    ...(values["TEST_TIMERS"] ? [] : valuesBelowFloor(values)),
    ...drivers.flatMap(({ config }) => config.check?.(values) ?? []),
  ],
};

/** Returns a fault for each time setting that is below its floor (docs/rules/14-timers.md). */
function valuesBelowFloor(values: Readonly<Record<string, unknown>>): readonly ValueFault[] {
  return Object.entries({ ...sharedFields, ...fields }).flatMap(([name, schema]) => {
    const { floor } = metaOf(schema);
    const value = values[name];
    if (floor === undefined || typeof value !== "number" || value >= floor) return [];
    return [{ name, message: `${name} must be at least ${floor} with a real terminal` }];
  });
}

/** Returns the driver that the setting TERMINAL_PROTOCOL names. */
export function driverFor(config: Config): Driver {
  const { TERMINAL_PROTOCOL } = valuesOf(choice, config);
  const driver = drivers.find(({ protocol }) => protocol === TERMINAL_PROTOCOL);
  invariant(driver, `there is a driver for ${TERMINAL_PROTOCOL}`);
  return driver;
}

/** Returns a text that changes when the terminal's protocol, line or driver settings change. */
export function setupOf(config: Config): string {
  const { protocol, config: own } = driverFor(config);
  const values: Readonly<Record<string, unknown>> = valuesOf(own.fields, config);
  const settings = Object.keys(own.fields).map((name) => values[name]);
  return JSON.stringify([protocol, config.SERIAL_PORT, ...settings]);
}
