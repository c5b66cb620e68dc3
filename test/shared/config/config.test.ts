import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadConfig, parseConfig } from "../../../src/shared/config/config.ts";
import {
  type ConfigPart,
  metaOf,
  oneOf,
  textsFrom,
} from "../../../src/shared/config/config-field.ts";
import { nearestName } from "../../../src/shared/config/config-file.ts";
import { sharedFields } from "../../../src/shared/config/schema.ts";
import { ProgramExit } from "../../../src/shared/process/exit-codes.ts";
import { installationAt } from "../../../src/shared/program/installation.ts";
import { Maintenance } from "../../../src/tp-manager/http/maintenance/maintenance.ts";
import { protocolPart } from "../../../src/tp-manager/terminal/registry.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { tries } from "../../support/run/scope.ts";
import { setupText } from "./setup-text.ts";

/** As tp-manager reads it, with a part that adds no name. */
const added = { title: "Protocol", fields: {} };
const parse = (text: string) => parseConfig(text, "tp-manager", added);

test("half of what the kiosk's own pages need is a warning; KIOSK_PORT=0 only switches off", () => {
  const KIOSK_APP = "/opt/kiosk/pages";
  const warned = (names: Record<string, string>) => {
    const { config, warnings } = parse(setupText(names));
    expect(config).toBeDefined();
    return warnings;
  };
  const missing = [expect.stringMatching(/^KIOSK_PORT and KIOSK_APP go together/)];
  expect(warned({ KIOSK_PORT: "8768" })).toEqual(missing);
  expect(warned({ KIOSK_APP })).toEqual(missing);
  expect(warned({ KIOSK_APP, KIOSK_PORT: "0" })).toEqual([]);
  expect(warned({ KIOSK_APP, KIOSK_PORT: "8768" })).toEqual([]);
});

test("an operator's login without its password is a warning, for kiosks run with it", () => {
  const login = { OPERATOR_LOGIN: "boss" };
  const read = (text: string) => parse(`${setupText(login)}\n${text}`);
  const { config, warnings } = read("OPERATOR_PWD=");
  expect(config).toMatchObject({ OPERATOR_LOGIN: "boss", OPERATOR_PWD: undefined });
  expect(warnings).toEqual([
    expect.stringMatching(/^line \d+: OPERATOR_PWD is empty: the kiosk's login may make the/),
  ]);
  expect(read("OPERATOR_PWD=secret").warnings).toEqual([]);
  expect(read("").faults).toMatchObject([{ message: expect.stringContaining("go together") }]);
  const swapped = parse(`${setupText({ OPERATOR_PWD: "secret" })}\nOPERATOR_LOGIN=`).warnings;
  expect(swapped).toEqual([expect.stringMatching(/OPERATOR_LOGIN is empty: the kiosk/)]);
  expect(parse(`${setupText()}\nOPERATOR_LOGIN=\nOPERATOR_PWD=`).warnings).toEqual([]);
});

test("a FLEET_ID that reads like a card number is a warning that does not repeat it", () => {
  const warned = (FLEET_ID: string) => parse(setupText({ FLEET_ID })).warnings;
  expect(warned("4111111111111111")).toEqual([
    expect.stringMatching(/^(?!.*4111)line \d+: FLEET_ID reads like a card number/),
  ]);
  expect(warned("kiosk-4711")).toEqual([]);
});

test("the login of METRICS_LOGIN differs from the two others", () => {
  const read = (name: string) =>
    parse(setupText({ OPERATOR_LOGIN: "boss", OPERATOR_PWD: "x", METRICS_LOGIN: `${name}:y` }));
  expect(read("metrics").faults).toEqual([]);
  const [one, two] = [read("boss").faults, read("kiosk").faults];
  expect(one).toMatchObject([{ message: "METRICS_LOGIN must differ from OPERATOR_LOGIN" }]);
  expect(two).toMatchObject([{ message: "METRICS_LOGIN must differ from TERMINAL_MANAGER_LOGIN" }]);
});

describe("the form of the file", () => {
  test("a minimal file gives every default", () => {
    const { config, faults, warnings } = parse(setupText());
    expect([faults, warnings]).toEqual([[], []]);
    expect(config).toMatchObject({
      LOCAL_PORT: 8765,
      CURRENCY: "EUR",
      PAYMENT_TIMEOUT: 180,
      GATEWAY_LOCALE: "en_GB",
      GATEWAY_RATING: "ALL",
      GATEWAY_CUSTOMER_IP: "127.0.0.1",
      GATEWAY_WAIT: 5_000,
      ALLOWED_ORIGINS: [],
      LOG_LEVEL: "info",
    });
  });

  test.each([
    ["a BOM", (text: string) => `\ufeff${text}`],
    ["CRLF", (text: string) => text.replaceAll("\n", "\r\n")],
    ["lone CR", (text: string) => text.replaceAll("\n", "\r")],
    ["no line end at the end", (text: string) => text.trimEnd()],
    [
      "blanks and tabs around everything",
      (text: string) => text.replace(/^(.*?)=(.*)$/gm, " \t$1 \t= \t$2\t "),
    ],
    ["double quotes", (text: string) => text.replace(/=(.*)$/gm, '="$1"')],
    ["single quotes", (text: string) => text.replace(/=(.*)$/gm, "= '$1' ")],
    [
      "quotes and a comment after them",
      (text: string) => text.replace(/=(.*)$/gm, '= "$1"  # it\'s "this"'),
    ],
    [
      "comments and blank lines",
      (text: string) => `# setup\n\n   \n  # LOCAL_PORT=1\n${text.replaceAll("\n", "\n#\n\n")}`,
    ],
  ])("%s changes nothing", (_what, change) => {
    const { config, faults, warnings } = parse(change(setupText()));
    expect([faults, warnings]).toEqual([[], []]);
    expect(config).toEqual(parse(setupText()).config);
  });

  test.each([
    ['" a b "', " a b "],
    ['"a"b"', 'a"b'],
    ["'it's'", "it's"],
    ['""', undefined],
    ["a#b", "a#b"],
    ["#b", "#b"],
    ['"a # b"', "a # b"],
    ['"open', '"open'],
    ["a=b=c", "a=b=c"],
    ['"', '"'],
  ])("the password %s is read as %j", (text, value) => {
    const { config, warnings } = parse(setupText({ TERMINAL_MANAGER_PWD: text }));
    expect(config?.TERMINAL_MANAGER_PWD).toBe(value);
    expect(warnings).toEqual([]);
  });

  test("a comment after a value without quotes belongs to the value, with a warning", () => {
    const { config, warnings } = parse(setupText({ TERMINAL_MANAGER_PWD: "hunter2 # mine" }));
    expect(config?.TERMINAL_MANAGER_PWD).toBe("hunter2 # mine");
    expect(warnings).toEqual([
      expect.stringMatching(/^line 4: the # belongs to the value of TERMINAL_MANAGER_PWD/),
    ]);
    expect(warnings.join()).not.toContain("hunter2");
  });
});

describe("faults", () => {
  test("are reported all at once, in the order of the lines", () => {
    const { config, faults } = parse(
      ["LOCAL_PORT=08765", "UPDATE_TIME=25:00", "rubbish", "CURRENCY=eur"].join("\n"),
    );
    expect(config).toBeUndefined();
    expect(faults.map(({ line, message }) => `${line} ${message.split(" ")[0]}`)).toEqual([
      "0 SERIAL_PORT",
      "0 TERMINAL_MANAGER_LOGIN",
      "0 TERMINAL_MANAGER_PWD",
      "1 LOCAL_PORT",
      "2 UPDATE_TIME",
      "3 is",
      "4 CURRENCY",
    ]);
  });

  test("name the second line of a setting that stands twice, and the first line", () => {
    const { faults } = parse(`${setupText()}TERMINAL_MANAGER_PWD=hunter2\n`);
    expect(faults).toEqual([
      { line: 12, message: "TERMINAL_MANAGER_PWD stands in line 4 already" },
    ]);
  });

  test.each(["tp-manager", "supervisor"] as const)("name all that %s requires", (program) => {
    const missing = Object.entries(sharedFields)
      .filter(([, schema]) => metaOf(schema).requiredBy?.includes(program))
      .map(([name]) => name);
    expect(missing.length).toBeGreaterThan(4);
    const { faults } = parseConfig("", program);
    expect(faults.map(({ message }) => message.split(" is missing; for example ")[0])).toEqual(
      missing,
    );
  });

  test("do not name what only the other program requires", () => {
    const text = setupText({ GATEWAY_URL: undefined, GATEWAY_PWD: "" });
    expect(parse(text).faults).toEqual([]);
    expect(parseConfig(text, "supervisor").faults.map(({ line }) => line)).toEqual([0, 6]);
  });

  test("show the wrong value, shortened", () => {
    const { faults } = parse(setupText({ UPDATE_TIME: "9".repeat(500) }));
    expect(faults[0]?.message).toContain(`(found "${"9".repeat(60)}")`);
    expect(faults[0]?.message).not.toContain("9".repeat(61));
  });
});

describe("unknown names", () => {
  test.each([
    ["LOCALPORT", "LOCAL_PORT"],
    ["local_port", "LOCAL_PORT"],
    ["GATEWAY_PASSWD", "GATEWAY_PWD"],
    ["UPDATE_TME", "UPDATE_TIME"],
  ])("%s warns and suggests %s", (name, suggested) => {
    const { config, warnings } = parse(`${setupText()}${name}=hunter2\n`);
    expect(config).toBeDefined();
    expect(warnings).toEqual([`line 12: ${name} is not a known name, did you mean ${suggested}?`]);
  });

  test("far from every known one warn without a suggestion, also those of Object", () => {
    for (const name of ["SOMETHING_ELSE_ENTIRELY", "constructor", "toString", "hasOwnProperty"]) {
      const { config, warnings } = parse(`${setupText()}${name}=1\n`);
      expect(config).toBeDefined();
      expect(warnings[0]).toBe(`line 12: ${name} is not a known name`);
    }
    expect(nearestName("X", [])).toBeUndefined();
  });
});

describe("names that a reader does not know, because drivers add them", () => {
  const text = `${setupText({ LOG_DAYS: "0" })}LOCALPORT=1\nANY_MS=1\nANY_MS=2 # twice\n`;
  const port = oneOf(["1", "2"]).optional();
  const part: ConfigPart = {
    title: "Protocol",
    fields: textsFrom({ ANY_MS: { help: "Any.", example: "1" } })({ ANY_MS: port }),
    check: ({ ANY_MS }) => [{ name: "ANY_MS", message: `ANY_MS is ${ANY_MS}` }],
  };

  test("are neither unknown nor read without the drivers; shared names are still read", () => {
    const { faults, warnings } = parseConfig(text, "supervisor");
    expect(warnings).toEqual([]);
    expect(faults).toEqual([{ line: 12, message: expect.stringMatching(/^LOG_DAYS must/) }]);
  });

  test("are read with the drivers, and their faults stand among the others by line", () => {
    const { faults, warnings } = parseConfig(text, "tp-manager", part);
    expect(warnings).toEqual(["line 13: LOCALPORT is not a known name, did you mean LOCAL_PORT?"]);
    expect(faults.map(({ line, message }) => `${line} ${message}`)).toEqual([
      expect.stringMatching(/^12 LOG_DAYS must/),
      "14 ANY_MS is 1",
      "15 ANY_MS stands in line 14 already",
    ]);
  });
});

describe("secrets", () => {
  const secrets = Object.entries({ ...sharedFields, ...protocolPart.fields })
    .filter(([, schema]) => metaOf(schema).secret || metaOf(schema).login)
    .map(([name]) => name);
  const plainText = fc.string({ minLength: 8, maxLength: 40 }).filter((text) => /\w{4}/.test(text));

  test("are the passwords", () => {
    expect(secrets.length).toBeGreaterThan(4);
  });

  test("never occur in a message, however wrong the value is", () => {
    const line = fc
      .tuple(fc.constantFrom(...secrets), plainText, fc.nat(4))
      .map(([name, value, form]) => {
        const bad = value.replace(/[\r\n]/g, "").trim();
        const damaged = [
          `${bad}\u0001`,
          bad.padEnd(200, "#"),
          `${bad}:${bad}\u0002`,
          bad.padEnd(150),
          `${bad} # note\u0003`,
        ][form] as string;
        return {
          value: bad,
          text: `${name}=${damaged}\n${name} = ${damaged}\n${name} ${damaged}\n`,
        };
      });
    fc.assert(
      fc.property(line, ({ value, text }) => {
        const { faults, warnings } = parse(text);
        expect(faults.length).toBeGreaterThan(0);
        expect(JSON.stringify([faults, warnings])).not.toContain(
          JSON.stringify(value).slice(1, -1),
        );
      }),
      { numRuns: tries(1_000), seed: 7 },
    );
  });

  test("are all settings whose name or help says so", () => {
    const isSecretName = /login|user|pass|pwd|secret|api_key|token|phrase/i;
    const said = Object.entries({ ...sharedFields, ...protocolPart.fields })
      .filter(([name, schema]) =>
        isSecretName.test(`${name} ${metaOf(schema).help.split(/[;:]/)[0]}`),
      )
      .map(([name]) => name);
    expect(said).toEqual(secrets);
  });

  test("are not shown with the setup file, nor credentials in any address", async () => {
    const visible = {
      GATEWAY_URL: "https://gateway.example/a/b",
      SERIAL_PORT: "tcp://192.0.2.7:20007",
      KIOSK_APP: "C:\\kiosk\\pages",
      UPDATE_TIME: "03:30",
      ALLOWED_ORIGINS: "http://localhost:3000 https://page.example",
    };
    const hidden = {
      ...Object.fromEntries(secrets.map((name) => [name, "hunter2"])),
      GATEWAY_CALLBACK_URL: "https://shop.example/notify?token=hunter2",
      UPDATE_URL: "https://me:hunter2@updates.example",
      FLEET_URL: "mqtts://broker.example/#hunter2",
      FLEET_UPLOAD_URL: "https://support.example/?hunter2",
      PROXY_URL: "http://me:hunter2@proxy.example:3128",
      SERIAL_BAUD: "me:hunter2@host",
      FRIEND: "hunter2",
    };
    const file = join(temporaryFolder(), "config.txt");
    writeFileSync(file, setupText({ ...hidden, ...visible }));
    const settings = await new Maintenance({
      installation: installationAt(dirname(file)),
      fields: { ...sharedFields, ...protocolPart.fields },
    }).settings();
    expect(JSON.stringify(settings)).not.toContain("hunter2");
    const stateOf = (name: string) => settings.find((setting) => setting.name === name)?.state;
    for (const name of Object.keys(hidden)) {
      expect(stateOf(name), name).toBe(name === "FRIEND" ? "unknown" : "hidden");
    }
    for (const [name, value] of Object.entries(visible)) {
      expect(settings).toContainEqual(expect.objectContaining({ name, value, state: "set" }));
    }
  });

  test("inside an address do not occur either", () => {
    const text = setupText({
      GATEWAY_URL: "https://me:hunter2@gateway.example",
      GATEWAY_CALLBACK_URL: "https://:hunter2@shop.example",
      UPDATE_URL: "https://updates.example/?token=hunter2",
      ALLOWED_ORIGINS: "http://me:hunter2@page.example http://page.example?token=hunter2",
      SERIAL_PORT: "tcp://me:hunter2@192.0.2.7:20007",
      TERMINAL_MANAGER_LOGIN: "kiosk:hunter2",
    });
    const { faults } = parse(text);
    expect(faults.length).toBe(6);
    expect(JSON.stringify(faults)).not.toContain("hunter2");
  });
});

describe("a gateway login", () => {
  const warningsOf = (login: string): readonly string[] =>
    parseConfig(setupText({ GATEWAY_LOGIN: login }), "supervisor").warnings;

  test("longer than described is taken, with a warning that does not repeat it", () => {
    expect(warningsOf("l".repeat(32))).toEqual([]);
    const [warning, ...others] = warningsOf("l".repeat(33));
    expect(others).toEqual([]);
    expect(warning).toMatch(/^line 6: GATEWAY_LOGIN has 33 characters, .* 32;/);
    expect(warning).not.toContain("lll");
  });

  const vectors = process.env["CONFORMANCE_VECTORS"];
  test.skipIf(!vectors)("is read like the published sample of a setup file", () => {
    const sample = readFileSync(join(vectors ?? "", "gateway/connector/config.txt.sample"), "utf8");
    const replaced = [...sample.matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => [name, undefined]);
    const text = setupText(Object.fromEntries(replaced)) + sample;
    for (const program of ["tp-manager", "supervisor"] as const) {
      const { config, faults, warnings } = parseConfig(text, program);
      expect(faults).toEqual([]);
      expect(config?.GATEWAY_LOGIN).toBe("99999999.stage.gateway.example.test");
      expect(warnings).toEqual([expect.stringMatching(/GATEWAY_LOGIN has 35 characters/)]);
    }
  });
});

describe("reading never throws", () => {
  test("on rubbish", () => {
    const names = fc.constantFrom(...Object.keys(sharedFields));
    const line = fc.oneof(
      fc.string(),
      fc.tuple(names, fc.string()).map(([name, value]) => `${name}=${value}`),
      fc.string({ unit: "binary" }),
    );
    fc.assert(
      fc.property(fc.array(line), fc.constantFrom("\n", "\r\n", "\r"), (lines, end) => {
        const result = parse(lines.join(end));
        expect(result.config === undefined).toBe(result.faults.length > 0);
      }),
      { numRuns: tries(1_000), seed: 7 },
    );
  });

  test("on bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(parse(Buffer.from(bytes).toString("utf8")).config).toBeUndefined();
      }),
      { seed: 7 },
    );
  });
});

describe("the file on disk", () => {
  const write = (content: string | Buffer, mode = 0o600): string => {
    const path = join(temporaryFolder(), "config.txt");
    writeFileSync(path, content, { mode });
    chmodSync(path, mode);
    return path;
  };
  const fault = (path: string): ProgramExit => {
    try {
      loadConfig(path, "tp-manager");
    } catch (error) {
      expect(error).toBeInstanceOf(ProgramExit);
      expect(error).toMatchObject({ exitCode: 78 });
      return error as ProgramExit;
    }
    throw new Error("was accepted");
  };

  test("is read without a warning when only its owner can read it", () => {
    expect(loadConfig(write(setupText()), "tp-manager").warnings).toEqual([]);
  });

  test.each([0o640, 0o604, 0o660, 0o666])("warns when others can read it: mode %o", (mode) => {
    const path = write(setupText(), mode);
    expect(loadConfig(path, "tp-manager").warnings).toEqual([
      `${path} holds passwords and can be read by others: chmod 600 ${path}`,
    ]);
  });

  test("is reported as missing, with what to copy", () => {
    expect(fault(join(temporaryFolder(), "config.txt")).message).toMatch(
      /cannot read .*ENOENT.*\nrun \.\/launch\.sh configure, or copy data\/config.example.txt to/,
    );
  });

  test("is refused when it is a folder, a pipe or a device", () => {
    const folder = join(temporaryFolder(), "config.txt");
    mkdirSync(folder);
    expect(fault(folder).message).toContain("it is not a file");
    const pipe = join(temporaryFolder(), "config.txt");
    execFileSync("mkfifo", [pipe]);
    expect(fault(pipe).message).toContain("it is not a file");
    expect(fault("/dev/zero").message).toContain("it is not a file");
  });

  test("is reported with the line in another encoding, and refused when binary or huge", () => {
    const latin1 = Buffer.from(setupText({ TERMINAL_MANAGER_PWD: "p\u00e4ss" }), "latin1");
    expect(fault(write(latin1)).message).toContain("line 4 is not UTF-8 text");
    expect(fault(write(latin1)).message).not.toContain("ss\n");
    const utf16 = Buffer.from(`\ufeff${setupText()}`, "utf16le");
    expect(fault(write(utf16)).message).toContain("save the file with the encoding UTF-8");
    expect(fault(write(Buffer.alloc(300_000, 10))).message).toContain("far too large");
  });

  test("is reported with every fault and its line, and no fault is named twice", () => {
    expect(fault(write(setupText({ LOCAL_PORT: "x", UPDATE_TIME: undefined }))).message).toMatch(
      /config\.txt has 2 faults:\n {2}UPDATE_TIME .*\n {2}line 2: LOCAL_PORT must/,
    );
    expect(fault(write(setupText({ LOCAL_PORT: "x" }))).message).toContain("has a fault:\n");
  });
});
