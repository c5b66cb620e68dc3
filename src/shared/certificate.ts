import { createHash, createPublicKey, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP, isIPv4 } from "node:net";

/** Who signs: its name, and its private key on the curve P-256. */
export interface Issuer {
  readonly name: string;
  readonly key: KeyObject;
}

/** What the key of a certificate may be used for, with its object id (RFC 5280 4.2.1.12). */
const purposes = { server: "1.3.6.1.5.5.7.3.1", client: "1.3.6.1.5.5.7.3.2", authority: null };

interface Subject {
  readonly name: string;
  readonly publicKey: KeyObject;
  readonly purpose: keyof typeof purposes;
  /** Host names and IP addresses for which the certificate is valid. */
  readonly hosts?: readonly string[];
  readonly fromMs: number;
  readonly untilMs: number;
}

const DAY_MS = 86_400_000;

/** Returns a certificate (X.509 version 3, RFC 5280), signed by its issuer, and its serial. */
export function signedCertificate(
  { name, publicKey, purpose, hosts = [], fromMs, untilMs }: Subject,
  issuer: Issuer,
): { readonly certificate: string; readonly serial: string } {
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(15)]);
  const use = purposes[purpose];
  const isAuthority = use === null;
  const extensions = [
    extension("2.5.29.19", sequence(...(isAuthority ? [YES] : [])), YES), // basic constraints
    // Key usage: digital signature; of an authority also certificates and lists of revocations.
    extension("2.5.29.15", tagged(0x03, Buffer.from(isAuthority ? [1, 0x86] : [7, 0x80])), YES),
    extension("2.5.29.14", tagged(0x04, keyIdOf(publicKey))), // subject key identifier
    signerOf(issuer),
    ...(use === null ? [] : [extension("2.5.29.37", sequence(objectId(use)))]),
    ...(hosts.length === 0 ? [] : [extension("2.5.29.17", sequence(...hosts.map(hostName)))]),
  ];
  const certificate = signed("CERTIFICATE", issuer, [
    tagged(0xa0, tagged(0x02, Buffer.from([2]))), // version 3
    tagged(0x02, serial),
    algorithm,
    nameOf(issuer.name),
    sequence(time(fromMs), time(untilMs)),
    nameOf(name),
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(...extensions)),
  ]);
  return { certificate, serial: serial.toString("hex") };
}

/** Returns the list of the certificates that an issuer has revoked (RFC 5280 5), without an end. */
export function revocationList(serials: readonly string[], issuer: Issuer, nowMs: number): string {
  const number = Buffer.alloc(8);
  number.writeBigUInt64BE(BigInt(nowMs));
  const revoked = serials.map((serial) =>
    sequence(tagged(0x02, Buffer.from(serial, "hex")), time(nowMs - DAY_MS)),
  );
  return signed("X509 CRL", issuer, [
    tagged(0x02, Buffer.from([1])), // version 2
    algorithm,
    nameOf(issuer.name),
    time(nowMs - DAY_MS),
    time(nowMs + 20 * 365 * DAY_MS),
    ...(revoked.length === 0 ? [] : [sequence(...revoked)]),
    tagged(0xa0, sequence(signerOf(issuer), extension("2.5.29.20", tagged(0x02, number)))),
  ]);
}

/** Returns tag, length and content in distinguished encoding (X.690). */
function tagged(tag: number, ...content: readonly Buffer[]): Buffer {
  const inner = Buffer.concat(content);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(inner.length);
  const length = size.subarray(size.findIndex((byte) => byte > 0));
  const isShort = inner.length < 0x80;
  const head = isShort ? [tag, inner.length] : [tag, 0x80 | length.length, ...length];
  return Buffer.concat([Buffer.from(head), inner]);
}

function sequence(...content: readonly Buffer[]): Buffer {
  return tagged(0x30, ...content);
}

function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(number: number): number[] {
  const digits = [number & 0x7f];
  for (let rest = number >> 7; rest > 0; rest >>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
}

const YES = tagged(0x01, Buffer.from([0xff]));
const algorithm = sequence(objectId("1.2.840.10045.4.3.2")); // ecdsa-with-SHA256

function extension(id: string, value: Buffer, ...critical: readonly Buffer[]): Buffer {
  return sequence(objectId(id), ...critical, tagged(0x04, value));
}

/** Returns the authority key identifier, by which a client finds the issuer's certificate. */
function signerOf({ key }: Issuer): Buffer {
  return extension("2.5.29.35", sequence(tagged(0x80, keyIdOf(createPublicKey(key)))));
}

function keyIdOf(publicKey: KeyObject): Buffer {
  const key = publicKey.export({ type: "spki", format: "der" });
  return createHash("sha256").update(key).digest().subarray(0, 20);
}

function nameOf(name: string): Buffer {
  const text = tagged(0x0c, Buffer.from(name));
  return sequence(tagged(0x31, sequence(objectId("2.5.4.3"), text)));
}

/** Returns a host name under tag 2, or an IP address as bytes under tag 7 (RFC 5280 4.2.1.6). */
function hostName(host: string): Buffer {
  return isIP(host) === 0 ? tagged(0x82, Buffer.from(host)) : tagged(0x87, addressBytes(host));
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail] = address.split("::");
  const groups = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  const left = groups(head);
  const right = groups(tail ?? "");
  const zeros = new Array<number>(8 - left.length - right.length).fill(0);
  return Buffer.from([...left, ...zeros, ...right].flatMap((group) => [group >> 8, group & 0xff]));
}

/** Returns a UTCTime, or a GeneralizedTime of a year after 2049 (RFC 5280 4.1.2.5). */
function time(ms: number): Buffer {
  const digits = `${new Date(ms).toISOString().replace(/\D/g, "").slice(0, 14)}Z`;
  const isLate = digits >= "2050";
  return tagged(isLate ? 0x18 : 0x17, Buffer.from(isLate ? digits : digits.slice(2)));
}

function signed(label: string, { key }: Issuer, content: readonly Buffer[]): string {
  const body = sequence(...content);
  const signature = tagged(0x03, Buffer.from([0]), sign("sha256", body, key));
  const der = sequence(body, algorithm, signature);
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
