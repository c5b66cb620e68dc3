import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { getCACertificates } from "node:tls";
import { exitCodes, ProgramExit } from "../process/exit-codes.ts";
import type { Config } from "./schema.ts";

/**
 * Returns the certificates of a file that the setting `name` names. A file without certificates
 * ends the program, because the fault would show only at the first connection (docs/design.md 9.3).
 */
export function certificatesIn(name: string, path: string | undefined): string[] {
  if (path === undefined) return [];
  const refuse = (why: string): ProgramExit =>
    new ProgramExit(exitCodes.configuration, `${name} ${path} ${why}`);
  const text = readGiven(name, path);
  const found = text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  try {
    if (found.length > 0 && found.every((one) => new X509Certificate(one))) return found;
  } catch {
    throw refuse("holds a damaged certificate");
  }
  throw refuse("holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)");
}

/** Returns the text of the file that a setting names; an unreadable file ends the program. */
export function readGiven(name: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const why = `cannot be read: ${(error as Error).message}`;
    throw new ProgramExit(exitCodes.configuration, `${name} ${path} ${why}`);
  }
}

/** Returns the given certificates together with those of Node and of the system. */
export function trustedWith(certificates: readonly string[]): string[] {
  const known = [...getCACertificates("default"), ...getCACertificates("system")];
  return [...new Set([...known, ...certificates])];
}

type Lookup = Pick<Config, "GATEWAY_API_KEY" | "GATEWAY_LOGIN" | "GATEWAY_PWD">;

/** Returns the header with a lookup's credentials: an API key or Basic (docs/gateway.md 4.4). */
export function lookupCredentials(settings: Lookup): Record<string, string> {
  const { GATEWAY_API_KEY: apiKey, GATEWAY_LOGIN: login, GATEWAY_PWD: password } = settings;
  if (apiKey !== undefined) return { "x-api-key": apiKey };
  return { authorization: basicAuthorization(login, password) };
}

export function basicAuthorization(login: string, password: string): string {
  return `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}`;
}
