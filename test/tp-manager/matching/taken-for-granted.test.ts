import { expect, test } from "vitest";
import { choicesOf } from "../../../scripts/config-choices.ts";
import { type Config, parseConfig } from "../../../src/shared/config/config.ts";
import { systemClock } from "../../../src/shared/time.ts";
import type { Fact } from "../../../src/tp-manager/matching/assumptions.ts";
import {
  assumptionsOf,
  familyOf,
  takenForGranted,
} from "../../../src/tp-manager/matching/assumptions.ts";
import { driverFor, protocolPart } from "../../../src/tp-manager/terminal/registry.ts";
import { setupText } from "../../shared/config/setup-text.ts";
import { recordingLog } from "../../support/house/recording-log.ts";

const oneWay = { lastTransaction: false };
const learned = (facts: Partial<Record<Fact, boolean>>) => ({
  has: (fact: Fact) => facts[fact] === true,
  refuted: (fact: Fact) => facts[fact] === false,
  saw: () => undefined,
  contradicted: () => undefined,
});

test("one-result-each is off once every kind of result has carried a reference", () => {
  const isOn = (facts: Partial<Record<Fact, boolean>>) =>
    takenForGranted(oneWay, assumptionsOf("one-way"), learned(facts)).assumptions.find(
      ({ name }) => name === "one-result-each",
    )?.isOn;
  const two = { "echoes-approvals": true, "echoes-refusals": true };
  expect([isOn({}), isOn(two)]).toEqual([true, true]);
  expect(isOn({ ...two, "echoes-cancellations": true })).toBe(false);
});

test("a fact is shown as true, as false or as unknown, and not for an unknown terminal", () => {
  const of = (...[facts]: Parameters<typeof learned> | []) =>
    takenForGranted(
      { lastTransaction: true },
      assumptionsOf("asked"),
      facts && learned(facts),
    ).shown.map(({ name, holds }) => [name, holds]);
  expect(of({ "stores-reversals": true })).toEqual([["stores-reversals", true]]);
  expect(of({ "stores-reversals": false })).toEqual([["stores-reversals", false]]);
  expect(of({})).toEqual([["stores-reversals", null]]);
  expect(of()).toEqual([]);
});

const profileOf = {
  zvt: "ZVT_PROFILE",
  concert: "CONCERT_PROFILE",
  "caisse-ap": "CONCERT_PROFILE",
};
const profiles = Object.entries(profileOf).flatMap(([protocol, setting]) => {
  const schema = protocolPart.fields[setting];
  return ((schema && choicesOf(schema)) ?? []).map((profile) => ({ protocol, setting, profile }));
});

test.each(profiles)(
  "$protocol, $setting=$profile: the defaults of its family, as the book says",
  async ({ protocol, setting, profile }) => {
    const assumed = async (lines: string) => {
      const text = `${setupText()}TERMINAL_PROTOCOL=${protocol}\n${lines}`;
      const config = parseConfig(text, "tp-manager", protocolPart).config as Config;
      const terminal = await driverFor(config).create(config, systemClock, recordingLog().log);
      const { capabilities } = terminal;
      await terminal.close();
      return takenForGranted(capabilities, assumptionsOf(familyOf(capabilities)), learned({}));
    };
    const sendsNone = protocol === "caisse-ap" && profile === "ingenico-desk5000";
    const usual = await assumed(sendsNone ? "CAISSE_AP_REFERENCE=none\n" : "");
    expect(await assumed(`${setting}=${profile}\n`)).toEqual(usual);
    const off = usual.assumptions.filter(({ isOn }) => !isOn).map(({ name }) => name);
    expect(off).toEqual(sendsNone ? ["echoes-reference"] : []);
    expect(usual.shown.length).toBe(protocol === "zvt" || sendsNone ? 1 : 4);
  },
);
