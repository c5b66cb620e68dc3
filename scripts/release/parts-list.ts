import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Lock, nameOf, neededBy } from "./lock.ts";

/* The parts list of a version: CycloneDX 1.6, which is the same for the same input. */

export interface Delivered {
  readonly version: string;
  readonly dateMs: number;
  /** Who publishes it: an https address or a mail address. */
  readonly contact: string;
  /** The folders of the packages, below `node_modules` of the folder `installed`. */
  readonly packages: readonly string[];
  readonly lock: Lock;
  readonly installed: string;
  /** The Node.js of it: its path in the delivery, and the package that brought it. */
  readonly runtime: { readonly path: string; readonly package: string; readonly sha256: string };
  /** The SHA-256 of each file, by its path in the version's folder. */
  readonly files: Readonly<Record<string, string>>;
}

const PRODUCT = "unattended-terminal-connector";

/** Returns the name under which scanners and statements know a version of the product. */
export const productPurl = (version: string): string => `pkg:generic/${PRODUCT}@${version}`;

/** Returns the parts list as JSON. */
export function partsList(delivered: Delivered): string {
  const { version, dateMs, contact, packages, lock, runtime } = delivered;
  const publisher = supplierOf(contact);
  const metadata = {
    timestamp: new Date(dateMs).toISOString(),
    lifecycles: [{ phase: "build" }],
    component: {
      type: "application",
      "bom-ref": "product",
      supplier: publisher,
      name: PRODUCT,
      version,
      licenses: [{ license: { id: "Apache-2.0" } }],
      purl: productPurl(version),
    },
    supplier: publisher,
  };
  const node = runtimeOf(delivered);
  const components = [
    ...packages.map((path) => packageOf(path, delivered)),
    node,
    ...Object.entries(delivered.files).map(([path, sha256]) => fileOf(path, sha256)),
  ];
  const neededHere = (path: string): string[] =>
    neededBy(path, lock).filter((each) => packages.includes(each));
  const dependencies = [
    { ref: "product", dependsOn: [...neededHere(""), runtime.path] },
    ...packages.map((path) => ({ ref: path, dependsOn: neededHere(path) })),
    { ref: runtime.path, dependsOn: node.components.map((each) => each["bom-ref"]) },
  ];
  const content = { metadata, components, dependencies };
  const list = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: urnOf(content),
    version: 1,
    ...content,
  };
  return `${JSON.stringify(list, null, 2)}\n`;
}

/** Returns a name that is the same for the same content. */
export function urnOf(content: object): string {
  const hash = createHash("sha256").update(JSON.stringify(content)).digest("hex");
  const start = [hash.slice(0, 8), hash.slice(8, 12), `5${hash.slice(13, 16)}`];
  return `urn:uuid:${[...start, `8${hash.slice(17, 20)}`, hash.slice(20, 32)].join("-")}`;
}

function supplierOf(contact: string): object {
  const reached = contact.includes("://") ? { url: [contact] } : { contact: [{ email: contact }] };
  return { name: contact, ...reached };
}

export function packagePurl(path: string, lock: Lock): string {
  return `pkg:npm/${nameOf(path).replace("@", "%40")}@${lock[path]?.version}`;
}

function packageOf(path: string, { lock, installed }: Delivered) {
  const { version = "", integrity, license } = lock[path] ?? {};
  const [, algorithm, digest = ""] = /^(sha\d+)-(\S+)/.exec(integrity ?? "") ?? [];
  const hash = {
    alg: algorithm?.toUpperCase().replace("SHA", "SHA-"),
    content: Buffer.from(digest, "base64").toString("hex"),
  };
  return {
    type: "library",
    "bom-ref": path,
    supplier: { name: authorOf(join(installed, path)) },
    name: nameOf(path),
    version,
    ...(algorithm ? { hashes: [hash] } : {}),
    ...(license ? { licenses: [licenceOf(license)] } : {}),
    purl: packagePurl(path, lock),
  };
}

function licenceOf(license: string): object {
  const isExpression = /^\(?[\w.+-]+( (AND|OR|WITH) \(?[\w.+-]+\)?)*\)?$/.test(license);
  return isExpression ? { expression: license } : { license: { name: license } };
}

/** Who a package names as its author, without addresses, or else the owner of its repository. */
function authorOf(folder: string): string {
  const text = readFileSync(join(folder, "package.json"), "utf8");
  const { author, repository, name } = JSON.parse(text);
  const given: unknown = typeof author === "object" ? author?.name : author;
  if (typeof given === "string" && given !== "") return given.replace(/\s*[<(].*$/, "");
  const address: unknown = typeof repository === "object" ? repository?.url : repository;
  return /([^/:]+)\/[^/]+$/.exec(String(address ?? ""))?.[1] ?? String(name);
}

function fileOf(path: string, sha256: string): object {
  return {
    type: "file",
    "bom-ref": `file:${path}`,
    name: path,
    hashes: [{ alg: "SHA-256", content: sha256 }],
  };
}

/** Names of libraries in the CPE dictionary, by their names in `process.versions`. */
const libraries = {
  openssl: "openssl:openssl",
  sqlite: "sqlite:sqlite",
  uv: "libuv:libuv",
  nghttp2: "nghttp2:nghttp2",
  ares: "c-ares:c-ares",
  zlib: "zlib:zlib",
  brotli: "google:brotli",
  zstd: "facebook:zstandard",
} as const;

/**
 * Scanners match Node.js by its CPE, and only where its purl is generic: as a package of npm it
 * would have no vulnerability at all.
 */
function runtimeOf({ lock, runtime }: Delivered) {
  const path = `node_modules/${runtime.package}`;
  const { version = "" } = lock[path] ?? {};
  // What is in it is known only of the Node.js that runs here, which is the same version.
  const known: NodeJS.Dict<string> = process.versions.node === version ? process.versions : {};
  const inside = Object.entries(libraries).flatMap(([name, cpe]) => {
    const [number] = /^\d+(\.\d+)*/.exec(known[name] ?? "") ?? [];
    const [vendor = "", product = ""] = cpe.split(":");
    return number === undefined ? [] : [genericOf(product, number, vendor, path)];
  });
  const undici = known["undici"];
  const fetcher = {
    type: "library",
    "bom-ref": `${path}#undici`,
    name: "undici",
    version: String(undici),
    purl: `pkg:npm/undici@${undici}`,
  };
  return {
    ...genericOf("node", version, "nodejs", ""),
    type: "platform",
    "bom-ref": runtime.path,
    supplier: { name: "OpenJS Foundation", url: ["https://nodejs.org"] },
    cpe: cpeOf("nodejs", "node.js", version),
    hashes: [{ alg: "SHA-256", content: runtime.sha256 }],
    licenses: [{ license: { name: "Node.js: MIT and those of its libraries" } }],
    components: undici === undefined ? inside : [...inside, fetcher],
    properties: [{ name: "package", value: `${runtime.package}@${version}` }],
  };
}

const cpeOf = (vendor: string, product: string, version: string): string =>
  `cpe:2.3:a:${vendor}:${product}:${version}:*:*:*:*:*:*:*`;

function genericOf(name: string, version: string, vendor: string, within: string) {
  return {
    type: "library",
    "bom-ref": `${within}#${name}`,
    name,
    version,
    cpe: cpeOf(vendor, name, version),
    purl: `pkg:generic/${name}@${version}`,
  };
}
