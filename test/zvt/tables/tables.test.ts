import { describe, expect, test } from "vitest";
import {
  statusOfRefusal,
  terminalStatus,
} from "../../../src/tp-manager/terminal/zvt/terminal-statuses.ts";
import {
  container,
  decodeMessage,
  encodeMessage,
  fromHex,
  type RawTag,
  tag,
} from "../../../src/zvt/index.ts";
import {
  cardTypeName,
  declineAdvice,
  intermediateTexts,
  resultCode,
  resultText,
} from "../../../src/zvt/tables/result-codes.ts";

const languages = ["en", "fr", "de", "it", "es"] as const;

describe("result codes", () => {
  /** docs/zvt.md 11.4. */
  const listed = (
    "64 65 66 67 68 6a 6b 6c 6e 6f 71 72 73 74 75 76 77 78 79 7a 7b 7c 7d 7e 83 85 89 9a 9b 9c " +
    "9d " +
    "a0 a1 a3 a4 a5 b1 b2 b4 b5 b7 b8 bf c0 c1 c2 c3 c4 c5 c6 c8 c9 cb cc cd d2 dc dd de df e0 " +
    "e2 e3 e4 e7 e8 e9 ea eb ec ed f0 f1 f5 f6 fa fb fc fd fe ff"
  ).split(" ");

  test.each(listed)("%s has words of its own in every language", (hex) => {
    const code = Number.parseInt(hex, 16);
    for (const language of languages) {
      expect(resultText(code, language)).not.toBe("");
      expect(resultText(code, language)).not.toBe(resultText(0x99, language));
    }
  });

  test("1 to 99 come from the bank and are declines, with their two digits", () => {
    for (let code = 1; code <= 99; code++) {
      const digits = code < 10 ? `0${code}` : `${code}`;
      expect(resultCode(code).reason).toBe("declined");
      if (code !== 55) expect(resultText(code, "en")).toBe(`declined by the bank (${digits})`);
    }
    expect(resultText(5, "de")).toBe("von der Bank abgelehnt (05)");
    expect(resultText(5, "fr")).toBe("refusé par la banque (05)");
    expect(resultText(5, "es")).toBe("denegado por el banco (05)");
    expect(resultText(55, "de")).toBe("PIN falsch");
  });

  test("every code has a reason and words", () => {
    for (const language of languages) {
      for (let code = 0; code < 256; code++) expect(resultText(code, language)).toMatch(/./);
    }
  });
});

describe("intermediate statuses", () => {
  /** docs/zvt.md 11.3, the wording for a certified customer display. */
  test.each([
    [0x01, "Bitte Anzeigen auf dem PIN-Pad beachten"],
    [0x03, "Vorgang nicht möglich"],
    [0x07, "Karte nicht zugelassen"],
    [0x08, "Karte unbekannt / undefiniert"],
    [0x09, "Karte verfallen"],
    [0x0a, "Karte einstecken"],
    [0x0c, "Karte nicht lesbar"],
    [0x0d, "Vorgang abgebrochen"],
    [0x0e, "Vorgang wird bearbeitet bitte warten..."],
    [0x10, "Karte ungültig"],
    [0x12, "Systemfehler"],
    [0x13, "Zahlung nicht möglich"],
    [0x14, "Guthaben nicht ausreichend"],
    [0x15, "Geheimzahl falsch"],
    [0x17, "Bitte warten..."],
    [0x18, "Geheimzahl zu oft falsch"],
    [0x19, "Kartendaten falsch"],
    [0x1b, "Autorisierung erfolgt. Bitte tanken"],
    [0x1c, "Zahlung erfolgt. Bitte Ware entnehmen"],
    [0x1d, "Autorisierung nicht möglich"],
  ])("%s is word for word: %s", (code, text) => {
    expect(intermediateTexts(code)?.de).toBe(text);
  });

  test("40 more means the same, and that the card shall be taken", () => {
    expect(intermediateTexts(0x4c)?.en).toBe("Card unreadable. Please remove your card");
    expect(intermediateTexts(0x55)?.de).toBe("Geheimzahl falsch. Bitte Karte entnehmen");
    expect(intermediateTexts(0x55)?.it).toBe("PIN errato. Ritirare la carta, per favore");
  });

  test("FF and unknown codes have no words of their own", () => {
    expect(intermediateTexts(0xff)).toBeNull();
    expect(intermediateTexts(0x99)).toBeNull();
  });
});

describe("terminal status", () => {
  function status(code: number, tags?: readonly RawTag[]) {
    const apdu = encodeMessage("status-completion", {
      parts: { terminalStatus: code },
      ...(tags ? { tags } : {}),
    });
    return terminalStatus(decodeMessage(apdu, { answering: 0x0501 }));
  }

  test.each([
    [0x00, "0000"],
    [0xdc, "0100"],
    [0x9c, "1000"],
    [0x51, "2010"],
    [0xf0, "2010"],
    [0xb1, "2010"],
    [0xe2, "2001"],
    [0xcc, "2002"],
    [0xdf, "2003"],
    [0xe1, "2101"],
    [0x99, "2000"],
  ])("%s reads %s as cr, card, call, periph", (code, digits) => {
    const { cr, card, call, periph } = status(code);
    expect(cr + card + call + periph).toBe(digits);
  });

  test("a need that status byte and device state both report is shown once", () => {
    const device = (state: number) => [container("device", [tag("deviceState", state)])];
    expect(status(0x51, device(1)).detail).toBe("51 initialisation needed");
    expect(status(0x00, device(1)).detail).toBe("00 ready; initialisation needed");
  });

  test("any lock bit keeps cards out, and both bytes are shown", () => {
    expect(status(0, [tag("locks", fromHex("0000"))])).toMatchObject({ cr: "0" });
    expect(status(0, [tag("locks", fromHex("4000"))])).toMatchObject({
      cr: "2",
      detail: "00 ready; locks 4000",
    });
  });

  test("a device that has no keys, was tampered with, or wants initialisation is not ready", () => {
    const device = (state: number) => [container("device", [tag("deviceState", state)])];
    expect(status(0, device(0))).toMatchObject({ cr: "0" });
    expect(status(0, device(1))).toMatchObject({ cr: "2", call: "1" });
    expect(status(0, device(3))).toMatchObject({ cr: "2", periph: "3" });
  });

  test("an answer without a status is not ready", () => {
    const nothing = { name: "completion", control: 0x060f } as const;
    const empty = { parts: {}, fields: {}, tags: null, unknownField: null };
    expect(terminalStatus({ ...nothing, ...empty })).toMatchObject({ cr: "2" });
  });

  test("a refusal is busy or locked, never ready", () => {
    expect(statusOfRefusal(0x9c).cr).toBe("1");
    expect(statusOfRefusal(0x83).cr).toBe("2");
    expect(statusOfRefusal(0x00).cr).toBe("2");
    expect(statusOfRefusal(0xdc).cr).toBe("2");
  });
});

test("card types are named, above 255 by tag 41", () => {
  expect(cardTypeName(6, undefined)).toBe("Mastercard");
  expect(cardTypeName(0xff, 260)).toBe("BlueCode");
  expect(cardTypeName(undefined, 46)).toBe("Maestro");
  expect(cardTypeName(250, undefined)).toBeUndefined();
});

describe("what a customer who was turned away can do (docs/zvt.md 11.4)", () => {
  const advices = [
    ["insufficient funds", 51, undefined, { hostCode: "51", tryAgain: "other-card" }],
    ["wrong PIN", 0x37, undefined, { hostCode: "55", tryAgain: "same-card" }],
    ["card unreadable", 0x64, undefined, { hostCode: null, tryAgain: "same-card" }],
    ["card blocked", 0x6e, undefined, { hostCode: null, tryAgain: "other-card" }],
    ["end of day required", 0xf0, undefined, { hostCode: null, tryAgain: "no" }],
    ["host code in A0", 0x00, 0xa1, { hostCode: "A1", tryAgain: "other-card" }],
  ] as const;
  test.each(advices)("%s", (_name, code, hostCode, advice) => {
    expect(declineAdvice(code, hostCode)).toEqual(advice);
  });
});
