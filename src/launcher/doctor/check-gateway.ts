import { type Finding, finding } from "../../shared/catalog/findings.ts";
import type { Config } from "../../shared/config/config.ts";
import { type Clock, within } from "../../shared/time.ts";
import { httpCall } from "../processes/network.ts";

const ANSWER_WITHIN_MS = 10_000;
/** docs/gateway.md 4.5: the published code of a login that is not known. */
const WRONG_CREDENTIALS = 1_000_001;
/** docs/gateway.md 4.5: answers that come only after the login was accepted. */
const loginAccepted = [1_010_101, 1_010_201, 3_000_001, 3_000_002];
/** No transaction has this number. */
const NO_TRANSACTION = "0";

interface GatewayFinding {
  readonly finding: Finding;
  /** The gateway's clock, from its answer. */
  readonly nowMs: number | undefined;
}

type Settings = Pick<Config, "GATEWAY_URL" | "GATEWAY_LOGIN" | "GATEWAY_PWD">;

/**
 * Asks the gateway for a transaction that cannot exist. Of all calls only this lookup is sure to
 * change nothing: a GET that carries the login (docs/gateway.md 4.5). The order service would have
 * to be sent an order.
 */
export async function checkGateway(settings: Settings, clock: Clock): Promise<GatewayFinding> {
  const { GATEWAY_URL: url, GATEWAY_LOGIN: login, GATEWAY_PWD: password } = settings;
  const cancel = new AbortController();
  const asked = httpCall(`${url.replace(/\/+$/, "")}/v3/transaction/${NO_TRANSACTION}`, {
    headers: {
      accept: "application/json",
      authorization: `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}`,
    },
    signal: cancel.signal,
  }).then(({ status, headers, text }) => ({
    status,
    code: codeOf(text),
    date: Date.parse(headers.date ?? ""),
  }));
  try {
    const answer = await within(clock, "gateway", ANSWER_WITHIN_MS, asked);
    if (!answer) {
      const seconds = ANSWER_WITHIN_MS / 1_000;
      return { finding: finding("gateway-silent", { url, seconds }), nowMs: undefined };
    }
    const nowMs = Number.isNaN(answer.date) ? undefined : answer.date;
    return { finding: judged(url, answer.status, answer.code), nowMs };
  } catch (error) {
    return { finding: unreachable(url, error as Error), nowMs: undefined };
  } finally {
    cancel.abort();
    asked.catch(() => undefined); // broken off by the line above
  }
}

function judged(url: string, status: number, code: number | undefined): Finding {
  if (status === 401 || code === WRONG_CREDENTIALS) {
    return finding("gateway-login-refused", { url, http: status });
  }
  if (status === 200 || (code !== undefined && loginAccepted.includes(code))) {
    return finding("gateway-right", { url });
  }
  return finding("gateway-unclear", { url, http: status });
}

function unreachable(url: string, error: Error): Finding {
  const { code = "", message } = error as NodeJS.ErrnoException;
  if (/CERT|SELF_SIGNED|ISSUER|ALTNAME|SSL|TLS/i.test(code)) {
    return finding("gateway-not-trusted", { url, detail: message });
  }
  const isNameless = /ENOTFOUND|EAI_AGAIN/.test(code);
  const why = isNameless ? "gateway-no-name" : "gateway-out-of-reach";
  return finding(why, { url, detail: message || code });
}

function codeOf(body: string): number | undefined {
  try {
    const { code } = JSON.parse(body) as { code?: unknown };
    return typeof code === "number" ? code : undefined;
  } catch {
    return undefined; // a page of some server in between
  }
}
