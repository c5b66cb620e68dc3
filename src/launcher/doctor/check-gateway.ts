import { z } from "zod";
import { type Finding, finding } from "../../shared/catalog/findings.ts";
import type { Config } from "../../shared/config/config.ts";
import { proxyChoice } from "../../shared/config/proxy.ts";
import {
  certificatesIn,
  lookupCredentials,
  trustedWith,
} from "../../shared/config/server-trust.ts";
import { parseJson } from "../../shared/json.ts";
import { ProgramExit } from "../../shared/process/exit-codes.ts";
import type { Clock } from "../../shared/time.ts";
import { httpCall, NO_ANSWER } from "../processes/network.ts";

const ANSWER_WITHIN_MS = 10_000;
/** The gateway's code for an unknown login (docs/gateway.md 4.5). */
const WRONG_CREDENTIALS = 1_000_001;
/** Codes that the gateway answers only after it has accepted a login (docs/gateway.md 4.5). */
const loginAccepted = [1_010_101, 1_010_201, 3_000_001, 3_000_002];
const NO_TRANSACTION = "0";

type Settings = Partial<Config> &
  Pick<Config, "GATEWAY_URL" | "GATEWAY_LOGIN" | "GATEWAY_PWD" | "GATEWAY_API_KEY">;
type Ids = Pick<Config, "GATEWAY_WEBSITE_ID" | "GATEWAY_CATEGORY_ID">;

/**
 * Checks the gateway's address and login by looking up a transaction that cannot exist: a lookup is
 * the only call with a login that changes nothing (docs/gateway.md 4.5). The lookup trusts the same
 * certificates, takes the same proxy and has the same credentials as a lookup of the supervisor.
 * `nowMs`: the gateway's time, read from its answer.
 */
export async function checkGateway(settings: Settings, clock: Clock) {
  try {
    const headers = { accept: "application/json", ...lookupCredentials(settings) };
    const answer = await get(settings, `/v3/transaction/${NO_TRANSACTION}`, clock, headers);
    const dateMs = Date.parse(answer.headers.date ?? "");
    const nowMs = Number.isNaN(dateMs) ? undefined : dateMs;
    // An answer without a code comes from some other server between this machine and the gateway.
    const { data } = z.object({ code: z.number() }).safeParse(parseJson(answer.text));
    return { finding: judged(settings, answer.status, data?.code), nowMs };
  } catch (error) {
    return { finding: unreachable(settings.GATEWAY_URL, error as Error), nowMs: undefined };
  }
}

async function get(settings: Settings, path: string, clock: Clock, headers = {}) {
  const { GATEWAY_URL: url, GATEWAY_CA_FILE: caFile } = settings;
  const proxy = proxyChoice(settings, process.env)(url);
  const own = certificatesIn("GATEWAY_CA_FILE", caFile);
  const tls = {
    ca: trustedWith([...own, ...(proxy?.certificates ?? [])]),
    proxyEnv: proxy?.proxyEnv,
  };
  const limit = { clock, withinMs: ANSWER_WITHIN_MS };
  return await httpCall(`${url.replace(/\/+$/, "")}${path}`, { tls, headers, limit });
}

/**
 * Returns a finding about the ids that the gateway's list of categories (docs/gateway.md 2.8) does
 * not confirm; undefined: it lists them. Without a list they are not checked, never by an order.
 */
export async function checkIds(settings: Settings & Ids, clock: Clock, file: string) {
  const { GATEWAY_WEBSITE_ID: website, GATEWAY_CATEGORY_ID: category } = settings;
  const path = `/order/list-categories/id/${website}`;
  const { text } = await get(settings, path, clock).catch(() => ({ text: "" }));
  const ids = [...text.matchAll(/<category\b[^>]*?\bid="(\d+)"/g)].map(([, id]) => id);
  const warning = (detail: string): Finding => finding("setup-doubtful", { detail, file });
  if (ids.length === 0) {
    const [, why] = /<mapi[\s\S]*<message>([^<]{1,200})</.exec(text) ?? [];
    if (!why) return finding("gateway-ids-unknown", { website, category });
    return warning(`the gateway lists no categories of GATEWAY_WEBSITE_ID ${website} (${why})`);
  }
  if (ids.includes(category) || category === "0") return undefined;
  const listed = `none of the website's categories: ${ids.join(", ")}`;
  return warning(`GATEWAY_CATEGORY_ID ${category} is ${listed}`);
}

function judged(settings: Settings, status: number, code: number | undefined): Finding {
  const { GATEWAY_URL: url, GATEWAY_API_KEY: key } = settings;
  if (status === 401 || code === WRONG_CREDENTIALS) {
    const refused = key === undefined ? "gateway-login-refused" : "gateway-key-refused";
    return finding(refused, { url, http: status });
  }
  if (status === 200 || (code !== undefined && loginAccepted.includes(code))) {
    return finding(key === undefined ? "gateway-right" : "gateway-key-right", { url });
  }
  return finding("gateway-unclear", { url, http: status });
}

function unreachable(url: string, error: Error): Finding {
  const { code = "", name, message } = error as NodeJS.ErrnoException;
  if (name === NO_ANSWER) {
    return finding("gateway-silent", { url, seconds: ANSWER_WITHIN_MS / 1_000 });
  }
  const isUntrusted = /CERT|SELF_SIGNED|SIGNATURE|ISSUER|ALTNAME|SSL|TLS/i.test(code);
  if (isUntrusted || error instanceof ProgramExit) {
    return finding("gateway-not-trusted", { url, detail: message });
  }
  const isNameless = /ENOTFOUND|EAI_AGAIN/.test(code);
  const why = isNameless ? "gateway-no-name" : "gateway-out-of-reach";
  return finding(why, { url, detail: message || code });
}
