import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { getCACertificates } from "node:tls";
import { exitCodes, ProgramExit } from "../shared/process/exit-codes.ts";

/**
 * The certificates of a file that the setup file names. A file without any would only show at the
 * first connection, so it ends the program (docs/design.md 9.3).
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

/** The text of a file that the setup file names. */
export function readGiven(name: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const why = `cannot be read: ${(error as Error).message}`;
    throw new ProgramExit(exitCodes.configuration, `${name} ${path} ${why}`);
  }
}

/** The runtime's own list, the system's store, and the certificates of the setup file. */
export function trustedWith(certificates: readonly string[]): string[] {
  const known = [...getCACertificates("default"), ...getCACertificates("system")];
  return [...new Set([...known, ...certificates])];
}
