import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { revocationList } from "../../shared/certificate.ts";
import { type Authority, isServerFor, issue, writeOwn } from "./authority.ts";

/** Who reads all documents or sends requests, with its topics; no FLEET_ID has a dot. */
export const readers: ReadonlyMap<string, readonly string[]> = new Map([
  ["fleet.reader", ["topic read connector/1/#"]],
  ["fleet.bridge", ["topic read connector/1/#"]],
  ["fleet.figures", ["topic read connector/1/+/metrics"]],
  [
    "fleet.requests",
    [
      "topic read connector/1/#",
      "topic write connector/1/+/request",
      // It deletes the retained state of a kiosk that is gone.
      "topic write connector/1/+/state",
    ],
  ],
]);

/** The folder of these files at the broker, as Debian's mosquitto has its own. */
const AT_BROKER = "/etc/mosquitto/fleet";

/** Returns the host of a broker's address, of an IPv6 address without its brackets. */
export function hostOf(broker: string): string {
  return new URL(broker).hostname.replace(/^\[|\]$/g, "");
}

interface BrokerAccess {
  readonly broker: string;
  readonly certificates: boolean;
  readonly members: ReadonlyMap<string, { readonly hash?: string | undefined }>;
  readonly revoked: readonly string[];
}

/** Writes what the broker needs, in the forms of mosquitto 2 (docs/fleet.md 2.4). */
export function writeBrokerFiles(
  folder: string,
  access: BrokerAccess,
  authority: Authority,
  nowMs: number,
): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = (name: string): string => join(folder, name);
  const host = hostOf(access.broker);
  const [pem, key] = [file("server.pem"), file("server.key")];
  const isThere = existsSync(pem) && existsSync(key);
  if (!isThere || !isServerFor(readFileSync(pem, "utf8"), host, authority, nowMs)) {
    const server = issue("server", host, nowMs, authority);
    writeOwn(key, server.pem);
    writeOwn(pem, server.certificate);
  }
  const logins = [...access.members].flatMap(([id, { hash }]) => (hash ? [`${id}:${hash}\n`] : []));
  writeOwn(file("ca.pem"), authority.certificate);
  writeOwn(file("crl.pem"), revocationList(access.revoked, authority, nowMs));
  writeOwn(file("passwords"), logins.join(""));
  writeOwn(file("acl"), `${rules.join("\n")}\n`);
  writeOwn(file("fleet.conf"), `${configuration(access).join("\n")}\n`);
}

/** The access rules: a kiosk writes below its own name, and reads its own requests. */
const rules = [
  "pattern write connector/1/%u/#",
  "pattern read connector/1/%u/request",
  ...[...readers].flatMap(([name, topics]) => ["", `user ${name}`, ...topics]),
];

function configuration({ broker, certificates }: BrokerAccess): string[] {
  const { port, protocol } = new URL(broker);
  const isWeb = protocol === "wss:";
  return [
    `listener ${port || (isWeb ? 443 : 8883)}`,
    ...(isWeb ? ["protocol websockets"] : []),
    `certfile ${AT_BROKER}/server.pem`,
    `keyfile ${AT_BROKER}/server.key`,
    "allow_anonymous false",
    `acl_file ${AT_BROKER}/acl`,
    // Otherwise one kiosk could end the connection of another one by its client id.
    "use_username_as_clientid true",
    "message_size_limit 65536",
    ...(certificates
      ? [
          `cafile ${AT_BROKER}/ca.pem`,
          `crlfile ${AT_BROKER}/crl.pem`,
          "require_certificate true",
          "use_identity_as_username true",
        ]
      : [`password_file ${AT_BROKER}/passwords`]),
  ];
}
