import { describe, expect, test } from "vitest";
import type { Config } from "../../../src/shared/config/config.ts";
import { proxyChoice } from "../../../src/shared/config/proxy.ts";

const gateway = "https://pay.gateway.example/soap";
const HTTPS_PROXY = "http://env:3128";

function proxyOf(url: string, settings: Partial<Config>, environment = {}) {
  return proxyChoice(settings, environment)(url)?.proxyEnv.https_proxy;
}

describe("the proxy of an address", () => {
  test.each<[string, Partial<Config>, object, string | undefined]>([
    ["none", {}, {}, undefined],
    ["of the settings", { PROXY_URL: "http://own:1" }, { HTTPS_PROXY }, "http://own:1/"],
    ["of the environment", {}, { HTTPS_PROXY }, "http://env:3128/"],
    ["in small letters first", {}, { HTTPS_PROXY, https_proxy: "http://low:1" }, "http://low:1/"],
    [
      "for plain http only",
      {},
      { HTTP_PROXY: "http://env:1", http_proxy: "http://env:1" },
      undefined,
    ],
    ["that is no http proxy", {}, { HTTPS_PROXY: "socks5://env:1080" }, undefined],
    ["without scheme", {}, { HTTPS_PROXY: "env:3128" }, undefined],
    ["excepted by the settings", { NO_PROXY: "*" }, { HTTPS_PROXY }, undefined],
    ["excepted by the environment", {}, { HTTPS_PROXY, no_proxy: "gateway.example" }, undefined],
    [
      "of the settings, whatever the environment says",
      { PROXY_URL: "http://own:1" },
      { NO_PROXY: "*" },
      "http://own:1/",
    ],
  ])("%s", (_name, settings, environment, expected) => {
    expect(proxyOf(gateway, settings, environment)).toBe(expected);
  });

  test.each([
    "http://192.0.2.7/",
    "http://localhost:1",
    "https://localhost:1",
    "https://LOCALHOST.",
    "https://127.1:8443/",
    "https://[::1]/",
    "mqtt://127.0.0.1:1883",
    "mqtts://127.0.0.1:8883",
    "ws://broker.example",
    "wss://[::1]/mqtt",
  ])("%s never takes one", (url) => {
    expect(
      proxyOf(url, { PROXY_URL: "http://own:1" }, { HTTPS_PROXY, HTTP_PROXY: HTTPS_PROXY }),
    ).toBe(undefined);
  });

  test("gets the login of the settings, whatever characters it has", () => {
    const settings = { PROXY_URL: "http://own:1", PROXY_USER: "A\\b@c", PROXY_PASSWORD: "p:/%41?" };
    const choice = proxyChoice(settings, {})(gateway);
    const { username, password } = new URL(choice?.proxyEnv.https_proxy ?? "");
    expect([username, password].map(decodeURIComponent)).toEqual(["A\\b@c", "p:/%41?"]);
    expect(choice?.name).toBe("http://own:1");
  });

  test.each([
    "http://user:pa/ss@proxy:8080",
    "http://user:12/ss@proxy:8080",
    "http://user:1?s@proxy:8080",
    "http://user:1#s@proxy:8080",
    "http://user:pa%ss@proxy:8080",
    "http://",
    "http://a b",
  ])("of the environment that is no address (%s) is refused without a quotation", (value) => {
    const choice = proxyChoice({}, { HTTPS_PROXY: value });
    expect(() => choice(gateway)).toThrow(/^HTTPS_PROXY is not a valid address$/);
  });
});

describe("NO_PROXY", () => {
  const excepts = (NO_PROXY: string, url: string) =>
    proxyOf(url, { PROXY_URL: "http://own:1", NO_PROXY }) === undefined;

  test.each([
    ["*", gateway],
    ["a.example, gateway.example", gateway],
    ["a.example gateway.example.", gateway],
    [".gateway.example", gateway],
    ["*.gateway.example", gateway],
    ["PAY.Gateway.Example", gateway],
    ["gateway.example:443", gateway],
    ["gateway.example:8883", "mqtts://mq.gateway.example"],
    ["gateway.example:443", "wss://mq.gateway.example/mqtt"],
    ["192.0.2.7", "https://192.0.2.7/"],
    ["192.0.2.7:8443", "https://192.0.2.7:8443/"],
    ["10.0.0.0/8", "https://10.255.1.2/"],
    ["10.0.0.1-10.0.0.9", "https://10.0.0.9/"],
    ["2001:db8::7", "https://[2001:db8:0::7]/"],
    ["[2001:db8::7]:8443", "https://[2001:db8::7]:8443/"],
    ["2001:db8::/32", "https://[2001:db8:1::7]/"],
  ])("%s holds %s", (list, url) => expect(excepts(list, url)).toBe(true));

  test.each([
    ["", gateway],
    ["xgateway.example", gateway],
    ["way.example", gateway],
    ["pay.gateway.example.org", gateway],
    ["gateway.example:8443", gateway],
    ["gateway.example:443", "mqtts://mq.gateway.example"],
    ["gateway.example:8883", "wss://mq.gateway.example/mqtt"],
    ["0.2.7", "https://192.0.2.7/"],
    ["10.0.0.0/99 10.0.0.1-x x/8 /8 -", "https://10.0.0.1/"],
    ["10.0.0.0/8", "https://[2001:db8::7]/"],
    ["2001:db8::7", "https://[2001:db8::8]/"],
  ])("%j does not hold %s", (list, url) => expect(excepts(list, url)).toBe(false));
});
