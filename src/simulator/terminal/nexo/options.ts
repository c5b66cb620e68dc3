import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { nexoKey } from "../../../nexo/index.ts";
import { certified } from "../../certificates.ts";
import {
  flag,
  formed,
  oneOf,
  option,
  type SwitchTable,
  ValueError,
  whole,
} from "../../switch-table.ts";
import { type Draft, defaultOptions, type TerminalOptions } from "../options.ts";
import { members } from "../switches.ts";

/** The certificates that the terminal can show; only the first proves which terminal answers. */
const certificateKinds = ["own", "legacy", "other-name", "other-environment", "expired"] as const;
export type CertificateKind = (typeof certificateKinds)[number];

/** How long a terminal of this protocol waits for a card (docs/nexo.md 4.3). */
const CARD_WAIT_MS = 120_000;
/** How long the terminal remembers a request by its ids. */
const REMEMBERED_MS = 48 * 3_600_000;

const behaviour = {
  ...defaultOptions.behaviour,
  environment: "test" as "test" | "live",
  certificate: "own" as CertificateKind,
  /** The passphrase of the shared key; null: the terminal has no key, and speaks in clear. */
  passphrase: "simulated terminal" as string | null,
  keyIdentifier: "simulator",
  keyVersion: 1,
  /** The file that the terminal's root certificate is written to; null: none. */
  caFile: null as string | null,
  rememberedMs: REMEMBERED_MS,
  /** The address that display and event notifications are posted to; null: none. */
  notifyUrl: null as string | null,
};

export const nexoDefaults = {
  ...defaultOptions,
  tcp: { host: "127.0.0.1", port: 8_443 } as TerminalOptions["tcp"],
  manyConnections: true,
  pace: { ...defaultOptions.pace, cardWaitMs: CARD_WAIT_MS },
  device: { ...defaultOptions.device, name: "P400Plus", serialNumber: "275039202" },
  behaviour,
};

export type NexoOptions = TerminalOptions & Readonly<typeof nexoDefaults>;

const own = members<NexoOptions, "behaviour">("behaviour", nexoDefaults);

export const nexoSwitches: SwitchTable<Draft<NexoOptions>> = {
  environment: own("environment", "NAME", (value) => oneOf(value, ["test", "live"])),
  certificate: own("certificate", "KIND", (value) => oneOf(value, certificateKinds)),
  "no-key": flag(({ behaviour: before }) => ({ behaviour: { ...before, passphrase: null } })),
  passphrase: own("passphrase", "TEXT", formed(/^[ -~]{1,128}$/, "a phrase")),
  "key-identifier": own("keyIdentifier", "NAME", formed(/^[!-~]{1,64}$/, "simulator")),
  "key-version": own("keyVersion", "N", (value) => whole(value)),
  notify: own("notifyUrl", "URL", formed(/^https:\/\/[^\s/]+\/?$/, "https://127.0.0.1:8843")),
  "ca-file": option("FILE", (value, { behaviour: before }) => ({
    behaviour: { ...before, caFile: value },
  })),
};

/** Returns the terminal's key; null: it has none. */
export function keyOf({ behaviour: { passphrase, keyIdentifier, keyVersion } }: NexoOptions) {
  return passphrase === null ? null : nexoKey(keyIdentifier, keyVersion, passphrase);
}

/**
 * Returns the root of the simulated maker, and writes its certificate for registers to trust. The
 * key is kept in a file next to it, so that a terminal that starts again is trusted as before.
 * Throws {@link ValueError}.
 */
export function rootOf({ behaviour: { caFile } }: NexoOptions, nowMs: number): Root {
  const valid = { fromMs: nowMs - DAY_MS, toMs: nowMs + YEAR_MS };
  const kept = caFile === null ? undefined : keptRoot(caFile, nowMs);
  const root = kept ?? certified({ commonName: ROOT_NAME, isAuthority: true, ...valid });
  if (caFile === null || kept) return root;
  try {
    writeFileSync(caFile, root.cert);
    writeFileSync(keyFileOf(caFile), root.key, { mode: 0o600 });
    return root;
  } catch (error) {
    throw new ValueError(`--ca-file cannot be written: ${(error as Error).message}`);
  }
}

type Root = ReturnType<typeof certified>;
const ROOT_NAME = "Simulated Terminal Fleet Root";
export const DAY_MS = 24 * 3_600_000;
export const YEAR_MS = 365 * DAY_MS;
const keyFileOf = (caFile: string): string => `${caFile}.key`;

/** Returns the root that was written before; undefined: there is none that is valid. */
function keptRoot(caFile: string, nowMs: number): Root | undefined {
  try {
    const [cert, key] = [caFile, keyFileOf(caFile)].map((file) => readFileSync(file, "utf8"));
    const privateKey = createPrivateKey(key ?? "");
    const read = new X509Certificate(cert ?? "");
    const isValid = read.checkPrivateKey(privateKey) && Date.parse(read.validTo) > nowMs + DAY_MS;
    if (!isValid || cert === undefined || key === undefined) return undefined;
    return { commonName: ROOT_NAME, privateKey, key, cert };
  } catch {
    return undefined;
  }
}
