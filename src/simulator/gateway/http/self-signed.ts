import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { isIP, isIPv4 } from "node:net";
import type { Tls } from "./app.ts";

const VALID_MS = 397 * 24 * 3_600_000;

/**
 * Makes a key and a certificate (X.509 version 3, RFC 5280) for host names and addresses, valid
 * from a day before `nowMs`. Clients can be tried over https with the certificate as their CA file.
 */
export function selfSignedTls(hosts: readonly string[], nowMs: number): Tls {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(
    tagged(0x31, sequence(objectId("2.5.4.3"), tagged(0x0c, Buffer.from("gateway sandbox")))),
  );
  const algorithm = sequence(objectId("1.2.840.10045.4.3.2")); // ecdsa-with-SHA256
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))), // version 3
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    name,
    sequence(time(nowMs - 24 * 3_600_000), time(nowMs + VALID_MS)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(authority(), alternativeNames(hosts))),
  );
  const signature = sign("sha256", body, privateKey);
  const certificate = sequence(body, algorithm, tagged(0x03, Buffer.from([0]), signature));
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: pem("CERTIFICATE", certificate),
  };
}

/** Returns the basic constraints of a certificate that has signed itself (RFC 5280 4.2.1.9). */
function authority(): Buffer {
  const yes = tagged(0x01, Buffer.from([0xff]));
  return sequence(objectId("2.5.29.19"), yes, tagged(0x04, sequence(yes)));
}

/** Returns host names under tag 2, and IP addresses as bytes under tag 7 (RFC 5280 4.2.1.6). */
function alternativeNames(hosts: readonly string[]): Buffer {
  const names = hosts.map((host) =>
    isIP(host) === 0 ? tagged(0x82, Buffer.from(host, "ascii")) : tagged(0x87, addressBytes(host)),
  );
  return sequence(objectId("2.5.29.17"), tagged(0x04, sequence(...names)));
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

/** Returns tag, length and content in distinguished encoding (X.690). */
function tagged(tag: number, ...content: readonly Buffer[]): Buffer {
  const inner = Buffer.concat(content);
  const size = inner.length;
  const length =
    size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), inner]);
}

function sequence(...content: readonly Buffer[]): Buffer {
  return tagged(0x30, ...content);
}

/** Returns an ASN.1 INTEGER, which is positive if its first byte is below 128. */
function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes);
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

/** Returns a UTCTime, which can express years up to 2049 (RFC 5280 4.1.2.5.1). */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\D/g, "").slice(2, 14);
  return tagged(0x17, Buffer.from(`${digits}Z`, "ascii"));
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
