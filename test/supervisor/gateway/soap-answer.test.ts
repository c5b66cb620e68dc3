import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readPlainAnswer } from "../../../src/supervisor/gateway/plain-answer.ts";
import { readSoapAnswer } from "../../../src/supervisor/gateway/soap-answer.ts";
import { tries } from "../../support/run/scope.ts";
import { resultBody } from "../recording-gateway.ts";

const read = (text: string) => readSoapAnswer("generate", text);

/** Reads by the tree of the XML: two blank lines at the end are not in the plain form. */
function readStrictly(text: string) {
  expect(readPlainAnswer("generate", `${text}\n\n`)).toBeUndefined();
  return read(`${text}\n\n`);
}

/** An envelope with the usual prefixes around some content of the result. */
const around = (content: string): string =>
  '<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body>' +
  `<n:generateResponse xmlns:n="urn:x"><generateResult>${content}</generateResult>` +
  "</n:generateResponse></S:Body></S:Envelope>";

/** A result with another element next to its response. */
const withResult = (content: string): string =>
  around("<code>0</code>").replace("</S:Body>", `${content}</S:Body>`);

test("a result is read with its code, description and further fields", () => {
  const answer = read(resultBody(0, "N/A", "https://pay.test/?a=1&amp;b=2"));
  expect(answer).toMatchObject({ kind: "result", code: 0, description: "N/A" });
  expect(answer.kind === "result" && answer.fields.get("redirectUrl")).toBe(
    "https://pay.test/?a=1&b=2",
  );
});

test.each([
  ["another prefix", resultBody(0).replaceAll("SOAP-ENV", "soapenv").replaceAll("ns1", "m")],
  [
    "no prefix at all",
    "<Envelope><Body><generateResponse><generateResult><code>0</code></generateResult>" +
      "</generateResponse></Body></Envelope>",
  ],
  ["blanks and line ends between elements", resultBody(0).replaceAll("><", ">\r\n  <")],
  ["another order of fields", around("<description>N/A</description><code>0</code>")],
  ["a byte order mark", `\uFEFF${resultBody(0)}`],
  ["comments", around("<!-- <code>5</code> --><code>0</code>")],
  ["a code as CDATA", around("<code><![CDATA[0]]></code>")],
  ["an attribute", around('<code xsi:type="xsd:int">0</code>')],
])("a result is read with %s", (_what, text) => {
  expect(read(text)).toMatchObject({ kind: "result", code: 0 });
});

test("character references and entities in the description are resolved once", () => {
  const text = around("<code>3</code><description>&#233; &amp;lt; &lt;b&gt;</description>");
  expect(read(text)).toMatchObject({ description: "é &lt; <b>" });
});

test.each([
  ["no code", around("<description>N/A</description>")],
  ["an empty code", around("<code/>")],
  ["two codes", around("<code>0</code><code>1</code>")],
  ["a code with children", around("<code><a>0</a></code>")],
  ["a code with words", around("<code>0 nonsense</code>")],
  ["a fractional code", around("<code>0.5</code>")],
  ["a hexadecimal code", around("<code>0x0</code>")],
  ["a code of no int", around("<code>00000000000</code>")],
  ["two results", resultBody(0).replace(/(<generateResult>.*<\/generateResult>)/, "$1$1")],
  ["a result outside its response", resultBody(0).replaceAll("ns1:generateResponse", "ns1:other")],
  ["two envelopes", resultBody(0) + resultBody(0).replace(/<\?xml.*\?>/, "")],
  ["something after the envelope", `${resultBody(0)}<html/>`],
  ["an empty Fault next to the result", withResult("<Fault/>")],
  ["a Fault next to the result", withResult("<Fault><faultcode>x</faultcode></Fault>")],
  ["the answer to something else too", withResult("<confirmResponse><a/></confirmResponse>")],
  ["an open element", resultBody(0).slice(0, -1)],
  ["nothing", ""],
  ["blanks", " \n "],
  ["text", "OK"],
  ["a page", "<!DOCTYPE html><html><body>code 0</body></html>"],
])("an answer with %s is unreadable, never a success", (_what, text) => {
  expect(read(text).kind).toBe("unreadable");
});

describe("an answer in the plain form", () => {
  const plain = resultBody(0, "N/A", "https://pay.test/?a=1&amp;b=2");
  const typed = plain.replace("<code>", '<code xsi:type="xsd:int">');

  test.each([plain, typed, `${plain}\n`])("is read without a tree: %s", (text) => {
    expect(readPlainAnswer("generate", text)?.get("code")).toBe("0");
    expect(read(text)).toEqual(readStrictly(text));
  });

  const piece = fc.oneof(
    fc.string({ unit: "binary", maxLength: 4 }),
    fc.constantFrom(
      "<code>0</code>",
      "<code>1</code>",
      "<a>",
      "</a>",
      "<__proto__>0</__proto__>",
      "&amp;",
      "&#48;",
      "&x;",
      "]]>",
      "<![CDATA[0]]>",
      "<!--",
      " ",
      "\n",
      " x='0'",
      ' a="0"',
      "<constructor>0</constructor>",
      "<prototype>0</prototype>",
      "</generateResult>",
      "<!DOCTYPE a>",
      "\uFEFF",
    ),
  );

  test("is read as the strict reader reads it, and no other form is taken for it", () => {
    const positions = [...typed.matchAll(/(?=[<>"])/g)].map(({ index }) => index);
    fc.assert(
      fc.property(
        fc.oneof(fc.constantFrom(...positions), fc.nat(typed.length)),
        fc.oneof(fc.constant(0), fc.nat(40)),
        piece,
        (at, length, inserted) => {
          const text = typed.slice(0, at) + inserted + typed.slice(at + length);
          const fields = readPlainAnswer("generate", text);
          if (fields) expect(read(text)).toEqual(readStrictly(text));
        },
      ),
      { numRuns: tries(20_000), seed: 7 },
    );
  });

  test("takes a time that grows with its length alone", () => {
    const text = "a".repeat(60_000);
    for (const long of [
      plain.replace("<code>", `<a>${"&amp;x".repeat(40_000)}<code>`),
      plain.replace("<code>", `<code a="${text}">`).replace("</S", "<"),
      plain.replace("<code>", `<${text}>`),
      plain.replaceAll("generate", text),
      plain.replaceAll("generate", `${"Response".repeat(6_000)}`),
      plain.replace("xmlns:", `${' a="b"'.repeat(10_000)} xmlns:`),
    ]) {
      // Of the processor: other programs take of it what they like.
      const before = process.cpuUsage();
      readPlainAnswer("generate", long);
      expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
    }
  });
});

describe("hostile answers", () => {
  test("a document type is refused, so no entity is ever expanded", () => {
    const bomb = `<!DOCTYPE a [<!ENTITY x "0">]>${around("<code>&x;</code>")}`;
    expect(read(bomb)).toEqual({ kind: "unreadable", why: "has a document type" });
  });

  test("deep nesting is refused", () => {
    const deep = around(`<code>0</code>${"<a>".repeat(5_000)}${"</a>".repeat(5_000)}`);
    expect(read(deep).kind).toBe("unreadable");
  });

  test("names and ids of Object.prototype reach nothing", () => {
    read(around('<code>0</code><a id="__proto__">x</a>'));
    read(around("<code>0</code><__proto__><code>1</code></__proto__>"));
    read(around("<code>0</code><constructor><prototype>1</prototype></constructor>"));
    expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain("obj");
    expect(({} as Record<string, unknown>)["code"]).toBeUndefined();
  });

  test("a mutated answer never throws and never turns a refusal into code 0", () => {
    const refusal = resultBody(3, "amount invalid");
    fc.assert(
      fc.property(
        fc.nat(refusal.length - 1),
        fc.nat(40),
        fc.string({ unit: "binary", maxLength: 8 }).filter((text) => !text.includes("0")),
        (at, length, inserted) => {
          const text = refusal.slice(0, at) + inserted + refusal.slice(at + length);
          const answer = read(text);
          expect(answer.kind === "result" && answer.code === 0).toBe(false);
        },
      ),
      { seed: 7, numRuns: tries(1_000) },
    );
  });

  test("every cut of an answer is unreadable", () => {
    const text = resultBody(0);
    for (let length = 0; length < text.length; length++) {
      expect(read(text.slice(0, length)).kind).toBe("unreadable");
    }
  });
});

const vectors = process.env["CONFORMANCE_VECTORS"];

describe.skipIf(!vectors)("published answers (CONFORMANCE_VECTORS)", () => {
  const sample = (name: string): string =>
    readFileSync(join(vectors ?? "", "gateway/soap", name), "utf8");

  test("the published success is code 0 with its page", () => {
    const answer = read(sample("response-generate-ok.xml"));
    expect(answer).toMatchObject({ kind: "result", code: 0, description: "N/A" });
    expect(answer.kind === "result" && answer.fields.get("redirectUrl")).toMatch(/^https:/);
  });

  test("the published refusal is code 1 with its text", () => {
    const answer = read(sample("response-generate-bad-password.xml"));
    expect(answer).toMatchObject({ kind: "result", code: 1 });
    expect(answer.kind === "result" && answer.description).toMatch(/^Bad password for login/);
  });

  test.each([
    ["confirm", "response-confirm-ok.xml"],
    ["card", "response-card-ok.xml"],
  ])("the published answer to %s is code 0", (operation, name) => {
    expect(readSoapAnswer(operation, sample(name))).toMatchObject({ kind: "result", code: 0 });
  });
});
