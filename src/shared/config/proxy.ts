import { Agent } from "node:https";
import { BlockList, isIP } from "node:net";
import { readOr } from "../read-or.ts";
import { isLoopback } from "./config-field.ts";
import type { Config } from "./schema.ts";
import { certificatesIn } from "./server-trust.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** A proxy that opens a tunnel to a server. */
export interface TunnelProxy {
  /** The address without login, for people. */
  readonly name: string;
  /** The address with its login, as Node's agents read it. */
  readonly proxyEnv: { readonly https_proxy: string };
  /** Certificates that are trusted for a server that is reached through the proxy. */
  readonly certificates: readonly string[];
}

/** Returns the proxy for the address of a server; undefined: the server is reached directly. */
export type ProxyChoice = (url: string) => TunnelProxy | undefined;

/**
 * Returns the only rule of which proxy an address takes (docs/design.md 4.4): that of the settings,
 * else that of the environment. A proxy is used for https, mqtts and wss only, so that it reads
 * nothing (HTTP_PROXY counts for no address), and never for this machine. The rule throws for an
 * unusable proxy of the environment.
 */
export function proxyChoice(settings: Partial<Config>, environment: Environment): ProxyChoice {
  const { PROXY_URL: own, PROXY_USER, PROXY_PASSWORD = "", NO_PROXY, PROXY_CA_FILE } = settings;
  const certificates = certificatesIn("PROXY_CA_FILE", PROXY_CA_FILE);
  const noProxy = NO_PROXY ?? (own ? "" : variable(environment, "no_proxy"));
  return (url) => {
    const { protocol } = new URL(url);
    if (!["https:", "mqtts:", "wss:"].includes(protocol)) return undefined;
    // URL reads a host as an IP address in every form only in an https address.
    const { hostname, port } = new URL(url.replace(/^mqtts:/, "https:"));
    if (isLoopback(hostname.replace(/\.$/, ""))) return undefined;
    const usual = protocol === "mqtts:" ? 8883 : 443;
    if (isExcepted(noProxy, hostname, Number(port || usual))) return undefined;
    const address = own ? new URL(own) : proxyIn(environment);
    if (!address) return undefined;
    if (PROXY_USER !== undefined) {
      // The setters of URL leave a % as it is, and Node decodes the login.
      address.username = encodeURIComponent(PROXY_USER);
      address.password = encodeURIComponent(PROXY_PASSWORD);
    }
    const name = `${address.protocol}//${address.host}`;
    return { name, proxyEnv: { https_proxy: address.href }, certificates };
  };
}

/** Returns a variable, of which the name in small letters counts first, as for curl and Node. */
function variable(environment: Environment, name: string): string {
  return environment[name] || environment[name.toUpperCase()] || "";
}

/** Returns the environment's proxy; one that is neither http nor https is left out, as by Node. */
function proxyIn(environment: Environment): URL | undefined {
  const value = variable(environment, "https_proxy");
  if (!/^https?:\/\//i.test(value)) return undefined;
  const address = URL.parse(value);
  const login = readOr(undefined, () =>
    decodeURIComponent(`${address?.username}${address?.password}`),
  );
  // A login with a / would seem to end the host, and its rest would be logged as a path.
  const isWhole = !address?.href.replace(/^[^@/]+\/\/[^/]*/, "").includes("@");
  if (address && login !== undefined && isWhole) return address;
  throw new Error("HTTPS_PROXY is not a valid address"); // the value may hold a password
}

/**
 * Returns whether NO_PROXY lists a server: a name with all names below it, an IP address, a network
 * (10.0.0.0/8) or range (10.0.0.1-10.0.0.9), each also for one port, or `*` for all servers.
 */
function isExcepted(list: string, hostname: string, port: number): boolean {
  const host = plainName(hostname);
  const entries = list.toLowerCase().split(/[\s,]+/);
  return entries.some((entry) => {
    const [, name = entry, only] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
    if (name === "" || (only !== undefined && Number(only) !== port)) return false;
    if (isIP(host) !== 0) return name === "*" || holdsAddress(plainName(name), host);
    const suffix = plainName(name.replace(/^\*?\./, ""));
    return name === "*" || host === suffix || host.endsWith(`.${suffix}`);
  });
}

const plainName = (name: string): string => name.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");

function holdsAddress(entry: string, host: string): boolean {
  const family = isIP(host) === 6 ? "ipv6" : "ipv4";
  const [first = "", bits, last] = entry.split(/(?:\/(\d+)$)|-/);
  const listed = new BlockList();
  return readOr(false, () => {
    if (bits !== undefined) listed.addSubnet(first, Number(bits), family);
    else if (last) listed.addRange(first, last, family);
    else listed.addAddress(first, family);
    return listed.check(host, family);
  });
}

/** An agent for one connection through a proxy, which can be ended while the tunnel is opened. */
export class ProxyAgent extends Agent {
  #connection: ReturnType<Agent["createConnection"]>;

  /** Connects; calls `opened` once, with the connection to the server or with the fault. */
  override createConnection(...[options, opened]: Parameters<Agent["createConnection"]>) {
    let isOver = false;
    const end: typeof opened = (error, socket) => {
      if (!isOver) opened?.(error, socket);
      isOver = true;
    };
    this.#connection = super.createConnection(options, end);
    const closed = new Error("the connection to the proxy was closed");
    this.#connection?.once("close", () => end(closed, undefined as never));
    return this.#connection;
  }

  override destroy(): void {
    this.#connection?.destroy();
    super.destroy();
  }
}
