import {
  constants,
  createHash,
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
} from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/*
 * A TUF repository of its own making, independent of the packages that the product verifies with:
 * documents are plain objects, so that a test can publish whatever an attacker could.
 */

const DAY_MS = 86_400_000;

// biome-ignore lint/suspicious/noExplicitAny: a test reaches everywhere into a document
type Json = any;

interface Signer {
  readonly id: string;
  readonly key: Json;
  sign(bytes: Buffer): string;
}

export type KeyKind = "ed25519" | "ecdsa" | "rsa";

export function newSigner(kind: KeyKind = "ed25519", more: object = {}): Signer {
  const { publicKey, privateKey } = keyPair(kind);
  const key = {
    keytype: kind,
    scheme: schemes[kind],
    keyval: publicPart(kind, publicKey),
    ...more,
  };
  const id = createHash("sha256").update(canonical(key)).digest("hex");
  return { id, key, sign: (bytes) => signatureBy(kind, privateKey, bytes).toString("hex") };
}

const schemes = {
  ed25519: "ed25519",
  ecdsa: "ecdsa-sha2-nistp256",
  rsa: "rsassa-pss-sha256",
} as const;

function keyPair(kind: KeyKind): { publicKey: KeyObject; privateKey: KeyObject } {
  if (kind === "ed25519") return generateKeyPairSync("ed25519");
  if (kind === "ecdsa") return generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  return generateKeyPairSync("rsa", { modulusLength: 2048 });
}

function publicPart(kind: KeyKind, key: KeyObject): { public: string } {
  if (kind !== "ed25519") return { public: key.export({ type: "spki", format: "pem" }) as string };
  return {
    public: Buffer.from(key.export({ format: "jwk" }).x ?? "", "base64url").toString("hex"),
  };
}

function signatureBy(kind: KeyKind, key: KeyObject, bytes: Buffer): Buffer {
  if (kind === "ed25519") return signBytes(null, bytes, key);
  if (kind === "ecdsa") return signBytes("sha256", bytes, key);
  const padding = constants.RSA_PKCS1_PSS_PADDING;
  return signBytes("sha256", bytes, { key, padding, saltLength: 32 });
}

function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "string") return `"${value.replace(/[\\"]/g, "\\$&")}"`;
  if (value === null || typeof value !== "object") return String(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${canonical(name)}:${canonical(value[name])}`).join(",")}}`;
}

export function inDays(days: number, fromMs = Date.now()): string {
  return `${new Date(fromMs + days * DAY_MS).toISOString().slice(0, 19)}Z`;
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

type Answering = (request: IncomingMessage, response: ServerResponse, path: string) => boolean;

export class TestRepository {
  readonly signed: Record<string, Json> = {};
  readonly signers = new Map<string, Signer[]>();
  /** All that was ever published of a role, as it lies on the server. */
  readonly published = new Map<string, Buffer[]>();
  readonly targetFiles = new Map<string, Buffer>();
  /** Metadata asked for, as `root 2` or `timestamp`; targets by their path. */
  readonly asked: string[] = [];
  readonly askedTargets: string[] = [];
  publishesHashes = false;
  /** true: this answer was given elsewhere. */
  answers: Answering = () => false;
  url = "";

  constructor() {
    const common = { spec_version: "1.0.31", version: 1, expires: inDays(30) };
    this.signed = {
      root: { _type: "root", ...common, consistent_snapshot: true, keys: {}, roles: {} },
      targets: { _type: "targets", ...common, targets: {} },
      snapshot: { _type: "snapshot", ...common, meta: { "targets.json": { version: 1 } } },
      timestamp: { _type: "timestamp", ...common, meta: { "snapshot.json": { version: 1 } } },
    };
    for (const role of ["root", "timestamp", "snapshot", "targets"]) this.addSigner(role);
    this.publish("targets", "snapshot", "timestamp", "root");
  }

  get trustedRoot(): Buffer {
    return this.published.get("root")?.[0] ?? Buffer.alloc(0);
  }

  addSigner(role: string, signer = newSigner(), delegator = "root"): Signer {
    this.addKey(role, signer, delegator);
    this.signers.set(role, [...(this.signers.get(role) ?? []), signer]);
    return signer;
  }

  /** The key counts, but does not sign. */
  addKey(role: string, signer: Signer, delegator = "root"): void {
    if (delegator === "root") {
      this.signed["root"].keys[signer.id] = signer.key;
      this.signed["root"].roles[role] ??= { keyids: [], threshold: 1 };
      this.signed["root"].roles[role].keyids.push(signer.id);
      return;
    }
    const { keys, roles } = this.signed[delegator].delegations;
    keys[signer.id] = signer.key;
    roles.find((one: Json) => one.name === role).keyids.push(signer.id);
  }

  rotate(role: string): void {
    this.signed["root"].roles[role].keyids = [];
    this.signers.set(role, []);
    this.addSigner(role);
  }

  delegate(delegator: string, name: string, paths = ["*"], terminating = false): void {
    this.signed[delegator].delegations ??= { keys: {}, roles: [] };
    const role = { name, keyids: [], threshold: 1, terminating, paths };
    this.signed[delegator].delegations.roles.push(role);
    this.addSigner(name, this.signers.get(name)?.[0] ?? newSigner(), delegator);
    this.signers.set(name, (this.signers.get(name) ?? []).slice(0, 1));
    const { spec_version, expires } = this.signed["targets"];
    this.signed[name] ??= { _type: "targets", spec_version, expires, version: 1, targets: {} };
  }

  addTarget(path: string, bytes: Buffer, role = "targets", custom?: object): void {
    this.targetFiles.set(path, bytes);
    const hashes = { sha256: sha256(bytes) };
    const more = custom === undefined ? {} : { custom };
    this.signed[role].targets[path] = { length: bytes.length, hashes, ...more };
  }

  /** The roles in this order, with one version more each, unless it is a role's first time. */
  publish(...roles: string[]): void {
    for (const role of roles) {
      if (this.published.has(role)) this.signed[role].version += 1;
      if (role === "snapshot") this.#list();
      if (role === "timestamp") {
        this.signed["timestamp"].meta["snapshot.json"] = this.#metaOf("snapshot");
      }
      this.publishAsIs(role);
    }
  }

  publishAsIs(role: string): void {
    const bytes = this.sign(this.signed[role], this.signers.get(role) ?? []);
    this.published.set(role, [...(this.published.get(role) ?? []), bytes]);
  }

  sign(signed: Json, signers: readonly Signer[]): Buffer {
    const bytes = Buffer.from(canonical(signed));
    const signatures = signers.map(({ id, sign }) => ({ keyid: id, sig: sign(bytes) }));
    return Buffer.from(JSON.stringify({ signatures, signed }, undefined, 1));
  }

  /** Changes the newest published file of a role. */
  edit(role: string, change: (document: Json) => void): void {
    const all = this.published.get(role) ?? [];
    const document = JSON.parse(all.at(-1)?.toString() ?? "");
    change(document);
    all[all.length - 1] = Buffer.from(JSON.stringify(document));
  }

  #list(): void {
    for (const role of this.published.keys()) {
      if (["root", "snapshot", "timestamp"].includes(role)) continue;
      this.signed["snapshot"].meta[`${role}.json`] = this.#metaOf(role);
    }
  }

  #metaOf(role: string): object {
    const { version } = this.signed[role];
    const bytes = this.published.get(role)?.at(-1);
    if (!this.publishesHashes || !bytes) return { version };
    return { version, length: bytes.length, hashes: { sha256: sha256(bytes) } };
  }

  /** The address of the folder with `metadata/` and `targets/`; ends with the test. */
  async serve(tls?: { readonly key: string; readonly cert: string }): Promise<this> {
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      const path = request.url ?? "";
      if (this.answers(request, response, path)) return;
      const bytes = this.#find(path);
      if (!bytes) return void response.writeHead(404).end();
      const [, from] = /^bytes=(\d+)-$/.exec(request.headers.range ?? "") ?? [];
      if (from === undefined) return void response.end(bytes);
      const range = `bytes ${from}-${bytes.length - 1}/${bytes.length}`;
      response.writeHead(206, { "content-range": range }).end(bytes.subarray(Number(from)));
    };
    const server = tls ? createTlsServer(tls, answer) : createServer(answer);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    this.url = `${tls ? "https" : "http"}://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return this;
  }

  /** Writes what the server has into a folder, as a publisher copies it to a stick. */
  writeTo(folder: string): void {
    const files = new Map<string, Buffer>();
    for (const [role, all] of this.published) {
      for (const [i, bytes] of all.entries()) files.set(`metadata/${i + 1}.${role}.json`, bytes);
      const newest = all.at(-1);
      if (newest) files.set(`metadata/${role}.json`, newest);
    }
    for (const [path, bytes] of this.targetFiles) {
      const signed = this.signed["targets"].targets[path]?.hashes.sha256 ?? sha256(bytes);
      const name = `${signed}.${path.split("/").at(-1)}`;
      files.set(`targets/${[...path.split("/").slice(0, -1), name].join("/")}`, bytes);
    }
    for (const [path, bytes] of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), bytes);
    }
  }

  #find(path: string): Buffer | undefined {
    const [, folder, rest = ""] = /^\/(metadata|targets)\/(.*)$/.exec(path) ?? [];
    if (folder === "targets") return this.#findTarget(decodeURIComponent(rest));
    if (folder !== "metadata") return undefined;
    const [, version, name = ""] = /^(?:(\d+)\.)?(.*)\.json$/.exec(rest) ?? [];
    const role = decodeURIComponent(name);
    this.asked.push(version === undefined ? name : `${name} ${version}`);
    const all = this.published.get(role) ?? [];
    if (version === undefined) return all.at(-1);
    return all.findLast((_, i) => i === Number(version) - 1);
  }

  #findTarget(path: string): Buffer | undefined {
    this.askedTargets.push(path);
    if (!this.signed["root"].consistent_snapshot) return this.targetFiles.get(path);
    return this.targetFiles.get(path.replace(/[0-9a-f]{64}\.([^/]+)$/, "$1"));
  }
}
