import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formField, readMapi } from "../../../src/supervisor/notifications/mapi-notification.ts";
import { ownTimeOf } from "../../support/clocks/own-time.ts";
import { asSlow } from "../../support/clocks/patience.ts";
import { tries } from "../../support/run/scope.ts";
import { PASSWORD } from "../supervisor-rig.ts";
import { mapiOf, md5, resultOf, secrets } from "./mapi.ts";

const read = (document: string) => readMapi(Buffer.from(document), secrets);
const why = (document: string): string => {
  const verdict = read(document);
  return verdict.genuine ? "genuine" : verdict.why;
};

describe("a notification", () => {
  test("is read when its digest covers its bytes and the password", () => {
    const fields = { emailClient: "a&amp;b&#233;@shop.example", refundedAmount: "" };
    const verdict = read(mapiOf(resultOf(fields)));
    if (!verdict.genuine) throw new Error(verdict.why);
    expect(verdict.notification.fields).toMatchObject({
      operation: "capture",
      origAmount: "8.99",
      emailClient: "a&bé@shop.example",
      refundedAmount: "",
    });
  });

  test("gives the free data by their keys", () => {
    const datas = "<merchantDatas>  <_aKey_a>1</_aKey_a>  <_aKey_b-2/>  </merchantDatas>";
    const verdict = read(mapiOf(resultOf().replace("</result>", `${datas}</result>`)));
    expect(verdict.genuine && verdict.notification.freeData).toEqual({ a: "1", "b-2": "" });
  });

  test.each(["upper", "lower"])("takes a digest in %s case", (letters) => {
    const digest = md5(resultOf() + PASSWORD);
    const given = letters === "upper" ? digest.toUpperCase() : digest;
    expect(why(mapiOf(resultOf(), given))).toBe("genuine");
  });

  const result = resultOf();
  const good = mapiOf(result);
  const evil = resultOf({ status: "nok" });
  const digest = md5(result + PASSWORD);
  const refused: Array<[string, string, RegExp]> = [
    ["another password", mapiOf(result, md5(`${result}other`)), /wrong digest/],
    ["no password, as an older kit had it", mapiOf(result, md5(result)), /wrong digest/],
    ["a changed byte", good.replace("8.99", "8.98"), /wrong digest/],
    ["an empty digest", mapiOf(result, ""), /not one mapi/],
    ["a short digest", mapiOf(result, digest.slice(1)), /not one mapi/],
    ["a second result after", good.replace("</mapi>", `${evil}</mapi>`), /exactly one result/],
    ["a second result before", good.replace("<mapi>", `<mapi>${evil}`), /exactly one result/],
    ["a second root", `${good}<mapi><x/></mapi>`, /not one mapi/],
    ["a root that closes itself, and text", `<mapi/>${good}`, /not one mapi/],
    ["text after the root", `${good}text`, /not one mapi/],
    ["attributes on the root", good.replace("<mapi>", '<mapi a="b">'), /not one mapi/],
    ["attributes on the result", good.replace("<result>", '<result a="b">'), /exactly one/],
    ["two digests", good.replace("<result>", `<md5content>${digest}</md5content><result>`), /mapi/],
    ["a document type", `<!DOCTYPE mapi []>${good}`, /not one mapi/],
    ["an entity", good.replace("<mapi>", '<!DOCTYPE m [<!ENTITY e "x">]><mapi>'), /not one mapi/],
    ["a comment around", good.replace("<mapi>", "<!-- --><mapi>"), /not one mapi/],
    ["nothing", "", /exactly one/],
    ["HTML", "<html><body>hello</body></html>", /exactly one/],
  ];
  test.each(refused)("is refused with %s", (_name, document, reason) => {
    expect(why(document)).toMatch(reason);
    expect(read(document)).toMatchObject({ alarming: false });
  });

  const signedEvil: Array<[string, string, RegExp]> = [
    ["a document type", "<!DOCTYPE x>", /declarations/],
    ["CDATA without an end", "<x><![CDATA[y</x>", /declarations/],
    ["a comment in front of CDATA", "<!-- <![CDATA[ --><x>]]></x>", /declarations/],
    ["a comment", "<!-- x -->", /declarations/],
    ["an element twice", "<operation>refund</operation>", /twice/],
    ["elements in a leaf", "<x><y>1</y></x>", /has elements/],
    ["an element that is not closed", "<x>", /well-formed/],
    ["deep nesting", `${"<a>".repeat(50)}${"</a>".repeat(50)}`, /well-formed/],
    ["very many elements", "<a/>".repeat(2_000), /too many/],
  ];
  test.each(signedEvil)("is refused with %s even when it is signed", (_name, inside, reason) => {
    const document = mapiOf(resultOf().replace("</result>", `${inside}</result>`));
    expect(why(document)).toMatch(reason);
    expect(read(document)).toMatchObject({ counted: "unreadable", alarming: true });
  });

  const cdata: Array<[string, string, string]> = [
    ["text", "<![CDATA[y]]>", "y"],
    ["nothing", "<![CDATA[]]>", ""],
    ["what would be an element or an entity", "<![CDATA[<b>&amp;&#65;</b>]]>", "<b>&amp;&#65;</b>"],
    ["two sections and text", "a<![CDATA[b]]> &amp; <![CDATA[c]]>", "ab & c"],
    ["tags of a result", "<![CDATA[<result></result>]]>", "<result></result>"],
    ["the opening of another", "<![CDATA[<![CDATA[]]>", "<![CDATA["],
    ["very many signs", `<![CDATA[${"<".repeat(5_000)}]]>`, "<".repeat(5_000)],
    ["text that is not ASCII", "<![CDATA[é€😀]]>", "é€😀"],
  ];
  test.each(cdata)("is read with %s in CDATA when its digest fits", (_name, value, text) => {
    const children = resultOf({ emailClient: value }).slice(0, -"</result>".length);
    const freeData = `<merchantDatas><_aKey_a>${value}</_aKey_a></merchantDatas>`;
    const result = `${children}${freeData}</result>`;
    const verdict = read(mapiOf(result));
    if (!verdict.genuine) throw new Error(verdict.why);
    expect(verdict.notification.fields["emailClient"]).toBe(text);
    expect(verdict.notification.freeData).toEqual({ a: text });
    const forged = mapiOf(result, md5(`${result}other`));
    expect(read(forged)).toMatchObject({ counted: "wrong-digest", alarming: true });
  });

  test("with CDATA hides neither a second result nor what stands around it", () => {
    const section = "<![CDATA[x]]>";
    const twice = good.replace("</mapi>", `${section}${evil}</mapi>`);
    expect(why(twice)).toMatch(/exactly one result/);
    for (const around of [
      good.replace("<mapi>", `<mapi>${section}`),
      good.replace("</mapi>", `${section}</mapi>`),
      good.replace("<result>", "<![CDATA[<result>]]><result>"),
    ]) {
      expect(why(around)).toMatch(/not one mapi/);
    }
  });

  test("may be signed with each of the secrets, and names which by its setting", () => {
    const settings = ["GATEWAY_PWD", "SALT 1", "SALT 2"];
    const several = settings.map((setting) => ({ setting, value: `value of ${setting}` }));
    for (const { setting, value } of several) {
      const document = mapiOf(result, md5(result + value));
      const verdict = readMapi(Buffer.from(document), several);
      expect(verdict).toMatchObject({ genuine: true, signedWith: setting });
    }
    expect(readMapi(Buffer.from(good), several).genuine).toBe(false);
    expect(readMapi(Buffer.from(good), []).genuine).toBe(false);
  });

  /** Half a minute and more when the time grows with the square of the length. */
  const long: Array<[string, string]> = [
    ["blanks in front", `${" ".repeat(60_000)}${result}`],
    ["a declaration that goes on", `<?xml ${"?".repeat(60_000)}${result}`],
    ["blanks inside", `<mapi>${" ".repeat(60_000)}${result}`],
    ["sections that never end", `<mapi>${"<![CDATA[".repeat(6_000)}`],
    ["sections", `<mapi>${"<![CDATA[]]>".repeat(5_000)}${result}`],
  ];
  test.each(long)("that is 60 KB of %s takes no time", async (_name, document) => {
    const bytes = Buffer.from(document);
    const tookMs = await ownTimeOf([], () => expect(readMapi(bytes, secrets).genuine).toBe(false));
    expect(tookMs).toBeLessThan(asSlow(300));
  });

  test("is refused when it is not UTF-8", () => {
    expect(readMapi(Buffer.from(good.replace("VISA", "VIS\u00c4"), "latin1"), secrets)).toEqual({
      genuine: false,
      counted: "malformed",
      why: "not UTF-8",
      alarming: false,
    });
  });

  test("never throws, and nothing changed is ever genuine", () => {
    const bytes = Buffer.from(good);
    const from = bytes.indexOf("<result>");
    const to = bytes.indexOf("</result>") + "</result>".length;
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(255), (at, value) => {
        const changed = Buffer.from(bytes);
        changed[at] = value;
        const { genuine } = readMapi(changed, secrets);
        if (at >= from && at < to && value !== bytes[at]) expect(genuine).toBe(false);
      }),
      { numRuns: tries(3_000), seed: 7 },
    );
  });
});

describe("the form field", () => {
  test.each([
    ["xml=a+b%3C", "a b<"],
    ["x=1&xml=%C3%A9&y", "é"],
    ["xml=", ""],
  ])("%s", (body, text) => {
    expect(formField(Buffer.from(body), "xml")?.toString("utf8")).toBe(text);
  });

  test.each(["", "xml", "XML=a", "xml=%4", "xml=%zz", "xml=a&xml=b", "axml=1"])(
    "%j is refused",
    (body) => expect(formField(Buffer.from(body), "xml")).toBeUndefined(),
  );

  test("keeps bytes that are no text, because the digest covers bytes", () => {
    expect(formField(Buffer.from("xml=%FF%00%C3"), "xml")).toEqual(Buffer.from([255, 0, 0xc3]));
  });
});

const vectors = process.env["CONFORMANCE_VECTORS"];

describe.skipIf(!vectors)("the documents of the vectors", () => {
  const folder = join(vectors ?? "", "gateway/notification");
  const bytes = (file: string): Buffer => readFileSync(join(folder, file));
  interface Case {
    readonly file: string;
    readonly password: string;
    readonly observed: {
      readonly raw_bytes_signed: string;
      readonly kit_parser_merchantDatas: Record<string, string>;
    };
  }
  const { cases } = vectors
    ? (JSON.parse(bytes("matrix.json").toString("utf8")) as { cases: Case[] })
    : { cases: [] };

  test.each(cases)("$file: as a verifier of raw bytes", ({ file, password, observed }) => {
    const verdict = readMapi(bytes(file), [{ setting: "GATEWAY_PWD", value: password }]);
    expect(verdict.genuine).toBe(observed.raw_bytes_signed === "accept");
    if (verdict.genuine) {
      expect(verdict.notification.freeData).toEqual(observed.kit_parser_merchantDatas);
    }
  });

  test("the real one is genuine, its older form without the password is not", () => {
    const password = "f2022629d27c42ada763d7875ca11d9a";
    const signer = [{ setting: "GATEWAY_PWD", value: password }];
    const verdict = readMapi(bytes("real-signed.xml"), signer);
    expect(verdict.genuine && verdict.notification.fields["transid"]).toBe("5CF62325CB217655");
    expect(readMapi(bytes("real-legacy-digest.xml"), signer).genuine).toBe(false);
    expect(cases).toHaveLength(8);
  });
});
