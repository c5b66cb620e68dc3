import { Random } from "./random.ts";

/** One document that nobody should send, and how it was made. */
interface Hostile {
  readonly kind: string;
  readonly bytes: Buffer;
}

type Maker = (good: string, random: Random) => Buffer | string;

/** Names that mean something to objects of JavaScript. */
const objectNames = ["__proto__", "constructor", "prototype", "hasOwnProperty", "toString"];

const markup = [
  "<",
  ">",
  "&",
  "&x;",
  "&#0;",
  "&#xD800;",
  "&#99999999;",
  "&#x31;",
  "]]>",
  "<![CDATA[",
  "<![CDATA[0]]>",
  "<!--",
  "-->",
  "<?x",
  "<?php echo 1 ?>",
  "<!DOCTYPE a>",
  '<!ENTITY a "b">',
  "</result>",
  "<code>0</code>",
  'xmlns=""',
  "\r\n",
  "\u0000",
  "\uFFFE",
  "\u2028",
];

/** A place in the text, and the text with something put there. */
function insert(good: string, random: Random, what: string): string {
  const at = random.between(0, good.length);
  return good.slice(0, at) + what + good.slice(at);
}

/** The same with one of its elements, markup and content, replaced. */
function replaceElement(good: string, random: Random, by: (element: string) => string): string {
  const elements = [...good.matchAll(/<(\w+)>[^<>]*<\/\1>/g)];
  if (elements.length === 0) return good;
  const { index, 0: element } = random.pick(elements);
  return good.slice(0, index) + by(element) + good.slice(index + element.length);
}

const laughs = (random: Random): string =>
  Array.from({ length: random.between(2, 30) }, (_, i) => `<!ENTITY l${i + 1} "&l${i};&l${i};">`)
    .join("")
    .replace(/^/, '<!ENTITY l0 "lol">');

const utf16 = (text: string, big: boolean): Buffer => {
  const bytes = Buffer.from(text, "utf16le");
  return big ? bytes.swap16() : bytes;
};

/** Ways to damage an XML document. */
export const xmlMakers: Readonly<Record<string, Maker>> = {
  "bytes changed": (good, random) => {
    const bytes = Buffer.from(good);
    for (let i = random.between(1, 20); i > 0; i--) {
      bytes[random.between(0, bytes.length - 1)] = random.between(0, 255);
    }
    return bytes;
  },
  "a piece removed": (good, random) => {
    const at = random.between(0, good.length);
    return good.slice(0, at) + good.slice(at + random.between(1, 60));
  },
  "a piece repeated": (good, random) => {
    const at = random.between(0, good.length);
    return good.slice(0, at + random.between(1, 200)) + good.slice(at);
  },
  truncated: (good, random) => good.slice(0, random.between(0, good.length - 1)),
  "markup inserted": (good, random) => insert(good, random, random.pick(markup)),
  "an entity bomb": (good, random) =>
    insert(`<!DOCTYPE a [${laughs(random)}]>${good}`, random, `&l${random.between(0, 29)};`),
  "an external entity": (good, random) =>
    insert(`<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/hostname">]>${good}`, random, "&e;"),
  "a parameter entity": (good) =>
    `<!DOCTYPE a [<!ENTITY % p SYSTEM "http://127.0.0.1:9/">%p;]>${good}`,
  "an unknown entity": (good, random) => insert(good, random, "&nbsp;"),
  nested: (good, random) => {
    const depth = random.pick([5, 30, 300, 8_000]);
    const closed = random.happens(0.5) ? "</a>".repeat(depth) : "";
    return insert(good, random, "<a>".repeat(depth) + closed);
  },
  "many elements": (good, random) => insert(good, random, "<b/>".repeat(random.pick([400, 9_000]))),
  "many attributes": (good, random) => {
    const attributes = Array.from({ length: 2_000 }, (_, i) => ` a${i}="1"`).join("");
    return insert(good, random, `<a${attributes}/>`);
  },
  "a long text": (good, random) => insert(good, random, "x".repeat(random.pick([5_000, 50_000]))),
  "a long name": (good, random) => insert(good, random, `<${"a:".repeat(9_000)}/>`),
  "a section of character data": (good, random) =>
    replaceElement(good, random, (one) => one.replace(/>([^<]*)</, "><![CDATA[$1]]><")),
  "an instruction": (good, random) => insert(good, random, "<?pi a?>"),
  "a comment": (good, random) => insert(good, random, "<!-- a -->"),
  "an element twice": (good, random) => replaceElement(good, random, (one) => one + one),
  "an element empty": (good, random) =>
    replaceElement(good, random, (one) => one.replace(/>[^<]*</, "><")),
  "an element inside": (good, random) =>
    replaceElement(good, random, (one) => one.replace(/>/, "><a>1</a>")),
  "an object's name": (good, random) => {
    const name = random.pick(objectNames);
    return replaceElement(good, random, (one) => one.replaceAll(/\w+(?=>)/g, name));
  },
  "an object's name added": (good, random) => {
    const name = random.pick(objectNames);
    return replaceElement(good, random, (one) => `${one}<${name}><code>0</code></${name}>`);
  },
  "two roots": (good) => good + good.replace(/^<\?xml[^>]*>\s*/, ""),
  "another root around": (good) => `<a>${good.replace(/^<\?xml[^>]*>\s*/, "")}</a>`,
  "text after": (good, random) => `${good}${random.pick(["x", "<x/>", "\u0000", "]]>"])}`,
  "text in front": (good, random) =>
    `${random.pick(["x", " \n", "HTTP/1.1 200 OK\r\n\r\n"])}${good}`,
  "UTF-16": (good, random) =>
    utf16((random.happens(0.5) ? "\uFEFF" : "") + good, random.happens(0.5)),
  "UTF-16 declared": (good) => good.replace("UTF-8", "UTF-16"),
  "UTF-32": (good) => Buffer.from([...Buffer.from(good)].flatMap((byte) => [byte, 0, 0, 0])),
  "a byte order mark": (good) => `\uFEFF${good}`,
  "another mark": (good, random) =>
    Buffer.concat([
      Buffer.from(random.pick(["fffe", "feff", "2b2f7638", "0efeff"]), "hex"),
      Buffer.from(good),
    ]),
  "bytes that are no UTF-8": (good, random) => {
    const bad = Buffer.from(random.pick(["c0bc", "eda080", "f8888080", "ff", "c3"]), "hex");
    const at = random.between(0, good.length);
    return Buffer.concat([Buffer.from(good.slice(0, at)), bad, Buffer.from(good.slice(at))]);
  },
  "other encoding declared": (good, random) =>
    good.replace("UTF-8", random.pick(["UTF-7", "EBCDIC-CP-US", "ISO-8859-1", "x"])),
  "XML 1.1": (good) => good.replace('version="1.0"', 'version="1.1"'),
  "something else": (_good, random) =>
    random.pick([
      "",
      " ",
      "null",
      "[]",
      "{",
      "<html><body>502</body></html>",
      "\u001f\u008b\u0008",
    ]),
  "random bytes": (_good, random) =>
    Buffer.from(Array.from({ length: random.between(1, 300) }, () => random.between(0, 255))),
};

/** Ways to damage a JSON document. */
export const jsonMakers: Readonly<Record<string, Maker>> = {
  "bytes changed": xmlMakers["bytes changed"] as Maker,
  "a piece removed": xmlMakers["a piece removed"] as Maker,
  truncated: xmlMakers["truncated"] as Maker,
  "another value": (good, random) => {
    const values = ["null", "[]", "{}", '""', "0", "-1", "1e400", "true", "1e-9", '"\\ud800"'];
    return good.replace(/:("[^"]*"|\d+|true)/g, (all) =>
      random.happens(0.2) ? `:${random.pick(values)}` : all,
    );
  },
  "a member twice": (good, random) =>
    good.replace(/"\w+":("[^"]*"|\d+|true)/g, (all) =>
      random.happens(0.3) ? `${all},${all}` : all,
    ),
  "an object's name": (good, random) =>
    good.replace("{", `{"${random.pick(objectNames)}":{"polluted":true,"code":0},`),
  "an object's name inside": (good, random) =>
    good.replaceAll("{", `{"${random.pick(objectNames)}":{"polluted":true},`),
  "nested arrays": (good, random) => {
    const depth = random.pick([100, 5_000, 30_000]);
    return good.replace("[", "[".repeat(depth)).replace("]", "]".repeat(depth));
  },
  "nested objects": (good, random) => {
    const depth = random.pick([100, 3_000]);
    const deep = `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    return good.replace("{", `{"deep":${deep},`);
  },
  "only brackets": (_good, random) => random.pick(["[", '{"a":', "]"]).repeat(9_000),
  "many members": (good) =>
    good.replace("{", `{${Array.from({ length: 5_000 }, (_, i) => `"m${i}":1,`).join("")}`),
  "a long text": (good, random) =>
    good.replace(/"(?=[,}])/, `${"x".repeat(random.pick([9_000, 60_000]))}"`),
  "long digits": (good) => good.replace(/\d+/, "9".repeat(20_000)),
  "UTF-16": xmlMakers["UTF-16"] as Maker,
  "a byte order mark": xmlMakers["a byte order mark"] as Maker,
  "bytes that are no UTF-8": xmlMakers["bytes that are no UTF-8"] as Maker,
  "text after": (good, random) => good + random.pick(["x", ",", good]),
  "a comment": (good) => `/* a */${good}// b`,
  "something else": (_good, random) => random.pick(["", "null", "0", '"x"', "<a/>", "[1,2]", "{}"]),
  "random bytes": xmlMakers["random bytes"] as Maker,
};

/** `count` documents made from good ones, every way about as often; the same for the same seed. */
export function* hostileDocuments(
  makers: Readonly<Record<string, Maker>>,
  good: (random: Random) => string,
  count: number,
  seed: number,
): Generator<Hostile> {
  const random = new Random(seed);
  const kinds = Object.entries(makers);
  for (let i = 0; i < count; i++) {
    const [kind, make] = kinds[i % kinds.length] as (typeof kinds)[number];
    const made = make(good(random), random);
    yield { kind, bytes: Buffer.isBuffer(made) ? made : Buffer.from(made) };
  }
}
