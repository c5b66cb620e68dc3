import { z } from "zod";
import {
  type ConfigFields,
  described,
  isLoopback,
  isWebAddress,
  text,
  type ValueFault,
  wholePath,
  yesNo,
} from "./config-field.ts";

/** TLS for anything that leaves the machine (docs/design.md 4.3). */
const brokerUrl = z.string().refine(isBrokerUrl, {
  error:
    "must be mqtts://host or mqtts://host:port without login and path, " +
    "or mqtt:// on this machine (localhost, 127.0.0.1, [::1])",
});

function isBrokerUrl(value: string): boolean {
  if (!/^mqtts?:\/\/[^\s/\\?#@]+\/?$/.test(value) || !URL.canParse(value)) return false;
  const { protocol, hostname, port } = new URL(value);
  if (hostname === "" || port === "0") return false;
  return protocol === "mqtts:" || isLoopback(hostname);
}

/** A folder of addresses: uploads go below it and nowhere else. */
const uploadUrl = text(255).refine(
  (value) => isWebAddress(value) && /^https:[^?#]+\/$/.test(value) && !/\/\.\.?(\/|$)/.test(value),
  { error: "must be an https address without login, ? and #, with a / at its end" },
);

/** A part of topics and of a client's name: nothing in it may be a wildcard or a level. */
const fleetId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, - and _");

/** The names of the setup file about telemetry to an MQTT broker (docs/fleet.md 2.1). */
export const fleetFields = {
  FLEET_URL: described(brokerUrl.optional(), {
    help:
      "Address of the MQTT 5 broker that is told how this kiosk is; none is told without it. " +
      "A kiosk without power is told as lost within 45 s (keep-alive 30 s).",
    example: "mqtts://broker.example:8883",
  }),
  FLEET_ID: described(fleetId.optional(), {
    help: "Name of this kiosk in the fleet, another one for each kiosk.",
    example: "station-12-left",
  }),
  FLEET_USER: described(text(255).optional(), {
    help: "Login at the broker.",
    example: "station-12-left",
    login: true,
  }),
  FLEET_PASSWORD: described(text(255).optional(), {
    help: "Password at the broker.",
    example: "a long random text",
    secret: true,
  }),
  FLEET_CERT_FILE: described(wholePath.optional(), {
    help: "File with the client certificate for the broker (PEM).",
    example: "/etc/kiosk/fleet.pem",
  }),
  FLEET_KEY_FILE: described(wholePath.optional(), {
    help: "File with the key of the client certificate (PEM).",
    example: "/etc/kiosk/fleet.key",
  }),
  FLEET_CA_FILE: described(wholePath.optional(), {
    help: "File with certificates (PEM) to trust at the broker beside the system's.",
    example: "/etc/kiosk/fleet-ca.pem",
  }),
  FLEET_PAYMENTS: described(yesNo.default(true), {
    help: "Tells the fleet the end of each payment: amount and outcome, nothing of the customer.",
    example: "no",
  }),
  FLEET_COMMANDS: described(yesNo.default(false), {
    help: "Takes the requests of the fleet; none of them reaches the terminal.",
    example: "yes",
  }),
  FLEET_UPLOAD_URL: described(uploadUrl.optional(), {
    help: "Address below which the fleet may have a support bundle sent.",
    example: "https://support.example/kiosks/",
  }),
} as const satisfies ConfigFields;

/** Names of the fleet that do not go together. */
export function fleetFaults(isGiven: (name: string) => boolean): readonly ValueFault[] {
  const together = (name: keyof typeof fleetFields, needs: keyof typeof fleetFields) =>
    !isGiven(name) || isGiven(needs) ? [] : [{ name, message: `${name} needs ${needs} too` }];
  return [
    ...together("FLEET_URL", "FLEET_ID"),
    ...together("FLEET_USER", "FLEET_PASSWORD"),
    ...together("FLEET_PASSWORD", "FLEET_USER"),
    ...together("FLEET_CERT_FILE", "FLEET_KEY_FILE"),
    ...together("FLEET_KEY_FILE", "FLEET_CERT_FILE"),
  ];
}
