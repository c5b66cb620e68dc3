import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  readXml,
  SoapFault,
  xml,
  xmlDocument,
} from "../../../../src/simulator/gateway/soap/xml.ts";
import { tries } from "../../../support/run/scope.ts";
import { orderBody } from "../sandbox-for-test.ts";

const read = (text: string) => readXml(Buffer.from(text));

test("prefixes are resolved, also default and inner ones", () => {
  const root = read(
    '<a xmlns="urn:1" xmlns:p="urn:2" x="1" p:y="2"><p:b/>' +
      '<b xmlns="" xmlns:p="urn:3"><p:c/></b></a>',
  );
  expect(root).toMatchObject({ name: "a", namespace: "urn:1" });
  expect([...root.attributes]).toEqual([
    ["x", "1"],
    ["{urn:2}y", "2"],
  ]);
  expect(root.children).toMatchObject([
    { name: "b", namespace: "urn:2" },
    { name: "b", namespace: "", children: [{ name: "c", namespace: "urn:3" }] },
  ]);
});

test("text is joined over CDATA and comments, entities and line ends are decoded", () => {
  const root = read(
    "<a>1 &lt;<![CDATA[&lt;]]>&#233;&#xe9;<!-- no -->\r\n&apos;&quot;&gt;&amp;</a>",
  );
  expect(root.text).toBe("1 <&lt;éé\n'\">&");
});

test("a byte order mark and a declaration are accepted", () => {
  expect(read('\uFEFF<?xml version="1.0" encoding="utf-8"?><a/>').name).toBe("a");
});

describe("refused:", () => {
  const laughs = '<!DOCTYPE a [<!ENTITY l "lol"><!ENTITY m "&l;&l;&l;&l;">]><a>&m;</a>';
  const documents: Record<string, Buffer | string> = {
    nothing: "",
    "text alone": "hello",
    "an unfinished element": "<a><b></a>",
    "an element that is not closed": "<a>",
    "two roots": "<a/><b/>",
    "text after the root": "<a/>x",
    "a document type": "<!DOCTYPE a><a/>",
    "entities that grow": laughs,
    "an external entity": '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    "a document type in small letters": "<!doctype a><a/>",
    "an entity nobody declared": "<a>&nbsp;</a>",
    "an entity in an attribute": '<a x="&foo;"/>',
    "a bare ampersand": "<a>1 & 2</a>",
    "a reference without end": "<a>&#12</a>",
    "a reference to no character": "<a>&#0;</a>",
    "a reference to half a character": "<a>&#xD800;</a>",
    "a reference beyond Unicode": "<a>&#x110000;</a>",
    "a control character": "<a>\u0001</a>",
    "a prefix nobody declared": "<p:a/>",
    "a name with two colons": '<p:a:b xmlns:p="urn:x"/>',
    "an attribute twice": '<a x="1" x="2"/>',
    "an attribute without quotes": "<a x=1/>",
    depth: `${"<a>".repeat(200)}${"</a>".repeat(200)}`,
    "very many elements": `<a>${"<b/>".repeat(30_000)}</a>`,
    "a reserved name": "<__proto__/>",
    "another declared encoding": '<?xml version="1.0" encoding="ISO-8859-1"?><a/>',
    "bytes that are not UTF-8": Buffer.from([0x3c, 0x61, 0x3e, 0xe9, 0x3c, 0x2f, 0x61, 0x3e]),
    "UTF-16": Buffer.from("\uFEFF<a/>", "utf16le"),
  };
  for (const [name, document] of Object.entries(documents)) {
    test(name, () => {
      expect(() => readXml(Buffer.from(document))).toThrow(SoapFault);
    });
  }
});

test("whatever bytes come, reading ends with a document or a refusal", () => {
  const good = Buffer.from(orderBody);
  const change = fc.record({
    at: fc.nat(good.length - 1),
    remove: fc.nat(12),
    insert: fc.oneof(
      fc.constantFrom("<", ">", "&", "]]>", "<![CDATA[", "<!--", "-->", "<?", "\0", "\u00ff", '"'),
      fc.string({ maxLength: 6 }),
    ),
  });
  let refused = 0;
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
      let bytes = good;
      for (const { at, remove, insert } of changes) {
        const tail = bytes.subarray(Math.min(at + remove, bytes.length));
        bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(insert), tail]);
      }
      try {
        readXml(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(SoapFault);
        refused++;
      }
    }),
    { numRuns: tries(2_000), seed: 7 },
  );
  expect(refused).toBeGreaterThan(200);
});

test("what is written can be read again", () => {
  const text = fc.string({ unit: "grapheme" }).map((s) => s.replace(/[\p{Cc}\uFFFE\uFFFF]/gu, ""));
  fc.assert(
    fc.property(text, text, (content, value) => {
      const root = read(xmlDocument(xml("a", [xml("b", content)], { x: value })));
      expect(root.children[0]?.text).toBe(content);
      expect(root.attributes.get("x")).toBe(value);
    }),
    { seed: 7 },
  );
});

test("empty elements close themselves, only & < > are escaped in text", () => {
  expect(xmlDocument(xml("a", [xml("b"), xml("c", "é'\"&<>")], { d: '"' }))).toBe(
    '<?xml version="1.0" encoding="UTF-8"?>\n<a d="&quot;"><b/><c>é\'"&amp;&lt;&gt;</c></a>',
  );
});
