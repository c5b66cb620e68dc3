import { nexoKey } from "../../../nexo/index.ts";
import type { Config } from "../../../shared/config/config.ts";
import {
  form,
  integer,
  marked,
  oneOf,
  PORT_MAX,
  type ValueFault,
  type ValuesOf,
  valuesOf,
  wholePath,
} from "../../../shared/config/config-field.ts";
import { certificatesIn } from "../../../shared/config/server-trust.ts";
import { type Driver, withTexts } from "../driver.ts";
import type { NexoOptions } from "./nexo-options.ts";

const POLL_MS = 30_000;
const RECONNECT_MS = 5_000;

/** The settings of the driver; the floor of the limit comes from docs/nexo.md 4.3. */
const fields = withTexts({
  NEXO_POIID: form(
    /^[A-Za-z0-9]{3,}-[A-Za-z0-9]{9,15}$/,
    "must be model and serial number, like P400Plus-275039202",
  ).optional(),
  NEXO_SALE_ID: form(/^[A-Za-z0-9_-]{1,20}$/, "must be 1 to 20 letters, digits, _ or -").default(
    "kiosk",
  ),
  NEXO_ENVIRONMENT: oneOf(["live", "test"]).default("live"),
  NEXO_CA_FILE: wholePath.optional(),
  NEXO_KEY_IDENTIFIER: form(/^[!-~]{1,64}$/, "must be 1 to 64 printable characters").optional(),
  NEXO_KEY_VERSION: integer(0, 999_999).default(1),
  NEXO_KEY_PASSPHRASE: marked(
    form(/^[ -~]{1,128}$/, "must be 1 to 128 printable ASCII characters").optional(),
    { secret: true },
  ),
  NEXO_PAYMENT_LIMIT_MS: marked(integer(500, 900_000).default(300_000), { floor: 250_000 }),
  NEXO_BUSY_WAIT_MS: integer(0, 10_000).default(5_000),
  NEXO_NOTIFY_PORT: integer(1, PORT_MAX).optional(),
  NEXO_NOTIFY_CERT_FILE: wholePath.optional(),
  NEXO_NOTIFY_KEY_FILE: wholePath.optional(),
});

type Values = ValuesOf<typeof fields>;
type Common = "TERMINAL_PROTOCOL" | "SERIAL_PORT";
const ADDRESS = "SERIAL_PORT must be the terminal's address, such as tcp://192.168.1.60:8443";

const notifyFiles = ["NEXO_NOTIFY_CERT_FILE", "NEXO_NOTIFY_KEY_FILE"] as const;

export const nexoDriver: Driver = {
  protocol: "nexo",
  config: { fields, check: missing },
  // What the terminal answers by the id of a request does not change, so no pause is needed.
  confirmAfterMs: () => 0,
  create: async (config, clock, log) => {
    const { NexoTerminal } = await import("./nexo-terminal.ts");
    return new NexoTerminal({ options: await optionsOf(config), clock, log });
  },
};

/** Returns the settings that this protocol needs and that are missing or of another protocol. */
function missing(values: Partial<Values> & Readonly<Partial<Record<Common, unknown>>>) {
  const { TERMINAL_PROTOCOL, SERIAL_PORT } = values;
  if (TERMINAL_PROTOCOL !== "nexo") return [];
  const isOnLan = SERIAL_PORT === undefined || String(SERIAL_PORT).startsWith("tcp://");
  const needed = (name: keyof Values, why: string): readonly ValueFault[] =>
    values[name] === undefined ? [{ name, message: `${name} ${why}` }] : [];
  const isLive = values.NEXO_ENVIRONMENT === "live";
  const why = isLive ? ", because NEXO_ENVIRONMENT is live" : "";
  const hasKey = values.NEXO_KEY_IDENTIFIER !== undefined || values.NEXO_KEY_PASSPHRASE;
  return [
    ...(isOnLan ? [] : [{ name: "SERIAL_PORT", message: ADDRESS }]),
    ...needed("NEXO_POIID", "must name the terminal"),
    ...needed("NEXO_CA_FILE", "must name the file with the root certificate of the terminals"),
    ...(isLive || hasKey
      ? [
          ...needed("NEXO_KEY_IDENTIFIER", `must name the key that the terminal has too${why}`),
          ...needed("NEXO_KEY_PASSPHRASE", `must be that of the terminal's key${why}`),
        ]
      : []),
    ...notifyFiles.flatMap((name) =>
      values.NEXO_NOTIFY_PORT === undefined ? [] : needed(name, "is needed by NEXO_NOTIFY_PORT"),
    ),
  ];
}

async function optionsOf(config: Config): Promise<NexoOptions> {
  const { parseTcpAddress } = await import("../transport/tcp-transport.ts");
  const own = valuesOf(fields, config);
  const address = parseTcpAddress(config.SERIAL_PORT);
  const poiId = own.NEXO_POIID ?? "";
  if (!address) throw new Error(ADDRESS);
  return {
    address: {
      host: address.host,
      port: address.port,
      roots: certificatesIn("NEXO_CA_FILE", own.NEXO_CA_FILE),
      environment: own.NEXO_ENVIRONMENT,
      serialNumber: poiId.slice(poiId.indexOf("-") + 1).toUpperCase(),
    },
    saleId: own.NEXO_SALE_ID,
    poiId,
    key: keyOf(own),
    paymentLimitMs: own.NEXO_PAYMENT_LIMIT_MS,
    busyWaitMs: own.NEXO_BUSY_WAIT_MS,
    pollMs: POLL_MS,
    reconnectMs: RECONNECT_MS,
    notifyPort: own.NEXO_NOTIFY_PORT,
    notifyFiles: notifyFiles.map((name) => own[name] ?? ""),
  };
}

function keyOf({ NEXO_KEY_IDENTIFIER, NEXO_KEY_VERSION, NEXO_KEY_PASSPHRASE }: Values) {
  if (NEXO_KEY_IDENTIFIER === undefined || NEXO_KEY_PASSPHRASE === undefined) return null;
  return nexoKey(NEXO_KEY_IDENTIFIER, NEXO_KEY_VERSION, NEXO_KEY_PASSPHRASE);
}
