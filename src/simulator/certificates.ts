import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { signedCertificate } from "../shared/certificate.ts";

/** A certificate with its key, both in PEM form. */
interface Certified {
  readonly key: string;
  readonly cert: string;
}

interface Subject {
  readonly commonName: string;
  /** Names and addresses of hosts; without any, no client may compare the name of its host. */
  readonly hosts?: readonly string[];
  readonly isAuthority?: true;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A key that signs certificates, with its name. */
interface Issuer {
  readonly commonName: string;
  readonly privateKey: KeyObject;
}

/**
 * Makes a key and a certificate. Without an issuer the certificate signs itself. Returns an issuer
 * too, which can sign others.
 */
export function certified(subject: Subject, issuer?: Issuer): Certified & Issuer {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { commonName, hosts = [], isAuthority = false, fromMs, toMs: untilMs } = subject;
  const purpose = isAuthority ? "authority" : "server";
  const by = issuer ?? { commonName, privateKey };
  const { certificate } = signedCertificate(
    { name: commonName, publicKey, purpose, hosts, fromMs, untilMs },
    { name: by.commonName, key: by.privateKey },
  );
  const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return { commonName, privateKey, key, cert: certificate };
}
