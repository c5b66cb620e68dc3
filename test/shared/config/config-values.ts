import { describe, expect, test } from "vitest";
import { parseConfig } from "../../../src/shared/config/config.ts";
import {
  type ConfigFields,
  type ConfigPart,
  metaOf,
} from "../../../src/shared/config/config-field.ts";
import { setupText } from "./setup-text.ts";

/** Accepted texts with what they become; refused texts. */
export interface Values {
  readonly good: ReadonlyArray<readonly [text: string, value: unknown]>;
  readonly bad: readonly string[];
}

const none: Values = { good: [], bad: [] };

export const same = (...texts: string[]): Array<readonly [string, string]> =>
  texts.map((t) => [t, t]);

export const yesOrNo: Values["good"] = [
  ["yes", true],
  ["no", false],
];

export const wholeNumbers = (min: number, max: number): Values => ({
  good: [
    [String(min), min],
    [String(max), max],
  ],
  bad: [String(min - 1), String(max + 1), `0${max}`, `${max}.0`, "1e3", "0x10", "ten", "+5", "1 0"],
});

/** Names that are only accepted together with another one. */
const partners: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  OPERATOR_LOGIN: { OPERATOR_PWD: "let the operator in" },
  OPERATOR_PWD: { OPERATOR_LOGIN: "operator" },
  FLEET_USER: { FLEET_PASSWORD: "let the kiosk in" },
  FLEET_PASSWORD: { FLEET_USER: "kiosk-1" },
  FLEET_CERT_FILE: { FLEET_KEY_FILE: "/etc/kiosk.key" },
  PROXY_USER: { PROXY_URL: "http://proxy.example:3128", PROXY_PASSWORD: "let the kiosk out" },
  PROXY_PASSWORD: { PROXY_URL: "http://proxy.example:3128", PROXY_USER: "kiosk-1" },
  FLEET_KEY_FILE: { FLEET_CERT_FILE: "/etc/kiosk.pem" },
};

/** Tries every name of `fields` with texts that it takes and texts that it refuses. */
export function testValues(
  fields: ConfigFields,
  values: Readonly<Record<string, Values>>,
  added?: ConfigPart,
): void {
  describe.each(Object.entries(fields))("%s", (name, field) => {
    const { good, bad } = values[name] ?? none;
    const partner = partners[name] ?? {};

    test("has good and bad values here (else add a row for it)", () => {
      expect({ name, good: good.length > 0, bad: bad.length > 0 }).toEqual({
        name,
        good: true,
        bad: true,
      });
    });

    test.each(good)("takes %j", (text, value) => {
      const setup = setupText({ ...partner, [name]: text });
      const { config, faults } = parseConfig(setup, "tp-manager", added);
      expect(faults).toEqual([]);
      expect((config as Record<string, unknown> | undefined)?.[name]).toEqual(value);
    });

    test.each(bad)("refuses %j with line, name and example", (text) => {
      const setup = setupText({ ...partner, [name]: undefined });
      const { config, faults } = parseConfig(`${setup}${name}=${text}\n`, "supervisor", added);
      expect(config).toBeUndefined();
      expect(faults).toEqual([{ line: setup.split("\n").length, message: expect.any(String) }]);
      expect(faults[0]?.message).toMatch(new RegExp(`^${name} must .*; for example ${name}=`, "s"));
    });

    test("has a help sentence, and an example that is accepted", () => {
      const { help, example, secret } = metaOf(field);
      expect(help).toMatch(/^[A-Z].*\.$/);
      if (name !== "SERIAL_PORT") {
        const setup = setupText({ ...partner, [name]: example });
        expect(parseConfig(setup, "supervisor", added).faults).toEqual([]);
      }
      const isSecret = /(PWD|PASSWORD|PASSPHRASE|SECRETS?|KEY|^METRICS_LOGIN)$/.test(name);
      expect(secret ?? false).toBe(isSecret);
    });
  });
}
