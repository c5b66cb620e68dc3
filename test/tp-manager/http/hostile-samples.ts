/**
 * Bodies and queries that a careless or hostile program may send, for each call that reads one.
 * A body is JSON text, since no JavaScript value holds 1e400 or a lone surrogate's escape as it
 * came; a query begins with a question mark.
 */

const long = (length: number): string => JSON.stringify("x".repeat(length));
const pan = "4111 1111 1111 1111";
/** Of one member of a body that is right otherwise. */
const member =
  (name: string, rest: string) =>
  (value: string): string =>
    `{${rest}${rest === "" ? "" : ","}${JSON.stringify(name)}:${value}}`;

const orderIds = [
  ...['""', "null", "5", "true", "[]", "{}", '"a\\nb"', '"\\u0000"', '"\\u009f"', '"\\ud800"'],
  ...['"A-1"', '"Ord/1 ä ☃"', long(64), long(65), long(80), `"${pan}"`],
];
const notes = ['""', "null", "5", "[]", '"seen"', long(500), long(501), `"card ${pan}"`];
const amounts = [
  ...["1", "9.99", "0.01", "0", "-0", "-1", "9.999", "999999.99", "1000000", "99999999", "1e1"],
  ...[
    "1e-7",
    "1e400",
    "1e9",
    "100000000",
    '"9.99"',
    "null",
    "true",
    "[]",
    "{}",
    "9007199254740993",
  ],
];
const booleans = ['"true"', "0", "null", "[]", "{}"];
const unknownMembers = ['{"orderID":"A-1"}', '{"x":1,"y":2}', '{"constructor":1}'];
const noObject = [
  "",
  "{",
  "[]",
  "5",
  '"x"',
  "null",
  '{"__proto__":{}}',
  '{"orderId":1,"orderId":2}',
];

const payment = [
  ...noObject,
  ...unknownMembers,
  ...amounts.map(member("amount", '"orderId":"A-1"')),
  ...["1.5", "100", "99999999", "100000000"].map(member("amount", '"currency":"JPY"')),
  ...orderIds.map(member("orderId", '"amount":1')),
  ...['""', "null", "5", '"eur"', '"EURO"', '"ZZZ"', '"XAU"', '"CHF"', "[]"].map(
    member("currency", '"amount":1'),
  ),
  ...["null", "5", '"x"', "[]", "[[]]", "{}", '{"type":"good"}', '[{"type":"x"},{"name":5}]'].map(
    member("basket", '"amount":1'),
  ),
  ...['{"european_article_numbering":4711892728946}', `{"name":"${pan}"}`].map(
    member("basket", '"amount":1'),
  ),
  ...["null", "5", '"x"', "[]", "{}", '{"id":1.5}', '{"id":"7"}', '{"id":null}', '{"id":7.0}'].map(
    member("customer", '"amount":1'),
  ),
  ...['{"firstname":5}', '{"lastName":[]}', '{"email":5}', '{"email":"x"}', '{"email":""}'].map(
    member("customer", '"amount":1'),
  ),
  ...['{"email":"a@b"}', '{"email":null}', '{"email":"a b@c"}', '{"street":{"no":1}}'].map(
    member("customer", '"amount":1'),
  ),
  ...[`{"email":${JSON.stringify(`${"a".repeat(252)}@b`)}}`].map(member("customer", '"amount":1')),
  ...[`{"email":${JSON.stringify(`${"a".repeat(253)}@b`)}}`].map(member("customer", '"amount":1')),
  ...["null", "5", '"x"', "[]", "{}", '{"a":null}', '{"a":{}}', '{"a":[]}', '{"":""}'].map(
    member("customData", '"amount":1'),
  ),
  ...['{"a":1.5,"b":true,"c":"d"}', `{"${pan}":1}`, '{"n":4111111111111111}'].map(
    member("customData", '"amount":1'),
  ),
  ...["null", "5", "[]", "{}", '{"withinSeconds":0}', '{"withinSeconds":1}'].map(
    member("delivery", '"amount":1'),
  ),
  ...['{"withinSeconds":180}', '{"withinSeconds":181}', '{"withinSeconds":1.5}'].map(
    member("delivery", '"amount":1'),
  ),
  ...['{"withinSeconds":"30"}', '{"withinSeconds":30,"x":1}', '{"withinSeconds":null}'].map(
    member("delivery", '"amount":1'),
  ),
  '{"amount":"x","orderId":1,"currency":2,"extra":3}',
  '{"amount":0,"customer":{"firstname":1,"id":"x","email":"y"},"customData":{"a":null,"b":[]}}',
];

const operation = [
  ...noObject,
  ...unknownMembers,
  "{}",
  '{"orderId":"A-1","transactionPublicId":"5CF62325CB217655"}',
  ...orderIds.map(member("orderId", "")),
  ...['"5CF62325CB217655"', '"../etc"', '""', "null", "5", '"ä"'].map(
    member("transactionPublicId", ""),
  ),
  ...[long(32), long(33)].map(member("transactionPublicId", "")),
  ...amounts.map(member("amount", '"transactionPublicId":"5CF62325CB217655"')),
  ...orderIds.map(member("idempotencyKey", '"transactionPublicId":"5CF62325CB217655"')),
  ...booleans.map(member("again", '"transactionPublicId":"5CF62325CB217655"')),
];

/** By the call, with its method. */
export const hostileSamples: Readonly<Record<string, readonly string[]>> = {
  "POST /payment": payment,
  "POST /reversal": [
    ...noObject,
    ...unknownMembers,
    "{}",
    '{"orderId":"A-1","delivered":true}',
    ...orderIds.map(member("orderId", "")),
  ],
  "POST /delivery": [
    ...noObject,
    ...unknownMembers,
    "{}",
    '{"orderId":"A-1"}',
    '{"orderId":5,"delivered":5}',
    ...orderIds.map(member("orderId", '"delivered":true')),
    ...booleans.map(member("delivered", '"orderId":"A-1"')),
    ...amounts.map(member("amount", '"orderId":"A-1","delivered":true')),
  ],
  "POST /payment/A-1/settle": [
    ...noObject,
    ...unknownMembers,
    "{}",
    ...['"charged"', '"not_charged"', '"reversed"', '"CHARGED"', "5", "null"].map(
      member("outcome", '"note":"seen"'),
    ),
    ...notes.map(member("note", '"outcome":"charged"')),
    '{"outcome":"x","note":""}',
  ],
  "POST /gateway/confirm": operation,
  "POST /gateway/refund": operation,
  "POST /gateway/cancel": operation,
  "POST /gateway/settle": [
    ...noObject,
    ...unknownMembers,
    "{}",
    '{"happened":true,"note":"seen"}',
    ...orderIds.map(member("orderId", '"happened":true,"note":"seen"')),
    ...['"5CF62325CB217655"', '"../etc"', "null"].map(
      member("transactionPublicId", '"happened":true,"note":"seen"'),
    ),
    ...booleans.map(member("happened", '"orderId":"A-1","note":"seen"')),
    ...notes.map(member("note", '"orderId":"A-1","happened":false')),
  ],
  "POST /gateway/copies": [
    ...noObject,
    ...unknownMembers,
    "{}",
    ...orderIds.map(member("orderId", '"note":"seen"')),
    ...notes.map(member("note", '"orderId":"A-1"')),
  ],
  "POST /outbox/1/requeue": [...noObject, "{}", '{"x":1}'],
  "POST /outbox/1/drop": [...noObject, ...unknownMembers, "{}", ...notes.map(member("note", ""))],
  "POST /update/hold": [
    ...noObject,
    ...["{}", '{"x":1}', '{"until":"2026-01-31"}', '{"until":"2026-02-31"}', '{"until":""}'],
    ...['{"until":null}', '{"until":20260131}', '{"until":"2026-1-1"}', '{"until":"--now"}'],
    ...['{"by":"Anna"}', '{"by":""}', '{"by":null}', '{"by":"4111111111111111"}'],
    ...['{"by":"a\\nb"}', `{"by":"${"a".repeat(81)}"}`],
  ],
  "POST /update/unhold": [...noObject, ...unknownMembers, "{}"],
  "GET /gateway/open": [
    ...["?", "?limit=1", "?limit=200", "?limit=0", "?limit=201", "?limit=x", "?limit=1&limit=2"],
    ...["?x=1", "?Limit=1", "?cursor=1"],
  ],
  "GET /unmatched-transactions": [
    "?",
    "?waiting=yes",
    "?waiting=no",
    "?waiting=",
    "?x=1",
    "?limit=1",
  ],
  "GET /acts": [
    ...["?", "?limit=1", "?limit=0", "?limit=x", "?cursor=1", "?cursor=0", "?cursor=x", "?x=1"],
    ...["?limit=1&limit=2", "?cursor=9007199254740991", "?cursor=9007199254740993", "?since=1"],
  ],
  "GET /logs": [
    ...["?", "?program=supervisor", "?program=Supervisor", "?program=", "?program=../x", "?x=1"],
    ...["?level=debug", "?level=trace", "?level=Error", "?level=warn&level=info", "?contains=a"],
    ...["?contains=", "?contains=%00", `?contains=${"x".repeat(201)}`, "?contains[]=a"],
    ...["?limit=1", "?limit=1000", "?limit=0", "?limit=1001", "?limit=x", "?limit=1&limit=2"],
  ],
  "POST /seen": [
    ...noObject,
    ...unknownMembers,
    ...["{}", '{"kind":"unmatched","items":["1"],"note":"seen"}'],
    ...['"stra"', "null", "1", '"payment"'].map(member("kind", '"items":["1"],"note":"seen"')),
    ...["[]", '"1"', "[1]", "[null]", '[""]', '["4111111111111111"]', "null", '["1","1"]'].map(
      member("items", '"kind":"alarm","note":"seen"'),
    ),
    ...notes.map(member("note", '"kind":"unmatched","items":["1"]')),
  ],
  "POST /update/check": [...noObject, ...unknownMembers, "{}"],
  "GET /day": [
    ...["?", "?date=2026-01-31", "?date=2026-02-31", "?date=", "?date=x", "?date=2026-1-1", "?x=1"],
    ...["?date=2026-01-31T00:00:00Z", "?date=-2026-01-31", "?date=2026-01-31&date=2026-01-30"],
    ...["?date=2024-02-29", "?date=2026-02-29", "?date[]=2026-01-31", "?Date=2026-01-31"],
  ],
  "GET /payments/search": [
    ...["?", "?limit=1", "?limit=100", "?limit=101", "?limit=0", "?limit=x", "?x=1"],
    ...["?from=2026-01-31", "?from=x", "?until=2026-01-31T00:00:00Z", "?until=", "?until=1"],
    ...["?order=A-1", "?order=", "?order=%25", "?order=%00", "?order=a&order=b", "?order[]=a"],
    ...["?amount=9.99", "?amount=9,99", "?amount=-1", "?amount=1e3", "?amount=", "?amount=NaN"],
    ...["?amount=123456789", "?amount=1.23456", "?amount=.5", "?amount=0x10", "?amount=+1"],
    ...["?card=4444", "?card=44", "?card=4", "?card=44444", "?card=4111111111111111", "?card=x"],
    ...["?status=Success", "?status=success", "?cursor=1", "?cursor=archive-1", "?cursor=0"],
  ],
  "GET /payments": [
    ...["?", "?limit=1", "?limit=500", "?limit=0", "?limit=501", "?limit=-1", "?limit=1.5"],
    ...["?limit=01", "?limit=1e2", "?limit=", "?limit=x", "?limit=1&limit=2", "?limit=+5"],
    ...["?status=Success", "?status=success", "?status=", "?status=Success&status=Failed"],
    ...["?since=2026-01-31T00:00:00Z", "?since=2026-01-31T00:00:00.5%2B01:00", "?since=x"],
    ...["?since=2026-01-31", "?since=2026-13-45T00:00:00Z", "?since=9e99", "?since="],
    ...["?since=2026", "?since=2026-01", "?since=hello%201", "?since=-1", "?since=2026-02-31"],
    ...["?since=2026-02-29", "?since=2024-02-29", "?since=2026-02-31T00:00:00Z", "?since=1"],
    ...["?since=2026-01-31T00:00:00", "?since=2026-01-31T00:00Z", "?since=2026-01-31T24:00:00Z"],
    ...["?since=2026-01-31T00:00:00%2B0100", "?since=2026-01-31T00:00:00+01:00"],
    ...["?since=31.1.2026", "?since=Sat,%2031%20Jan%202026%2000:00:00%20GMT"],
    ...["?cursor=1", "?cursor=0", "?cursor=-1", "?cursor=1.5", "?cursor=archive-1", "?cursor="],
    ...["?cursor=archive-", "?cursor=archive-x", "?cursor=9007199254740991", "?cursor=ARCHIVE-1"],
    ...["?cursor=9999999999999999", "?cursor=10000000000000000", "?x=1", "?limit[]=1", "?Limit=1"],
    ...["?x=1&limit=0", "?__proto__=1", "?constructor=1"],
  ],
  "GET /check": [
    ...["?", "?fresh=yes", "?fresh=no", "?fresh=", "?fresh=YES", "?fresh=yes&fresh=yes", "?fresh"],
    ...["?Fresh=yes", "?x=1", "?fresh=1", "?__proto__=1"],
  ],
  "GET /outbox": [
    ...["?", "?limit=1", "?limit=200", "?limit=0", "?limit=201", "?limit=x", "?limit=1&limit=2"],
    ...["?state=pending", "?state=Pending", "?state=x", "?state=", "?state=sent&state=sent"],
    ...["?cursor=1", "?cursor=0", "?cursor=1000000000000000", "?cursor=1000000000000001"],
    ...["?cursor=x", "?cursor=01", "?x=1", "?since=2026-01-31T00:00:00Z"],
  ],
  "GET /reconciliation": [
    ...["?", "?limit=1", "?limit=0", "?limit=501", "?limit=-1", "?limit=x", "?limit=1&limit=2"],
    ...["?cursor=1", "?cursor=0", "?cursor=x", "?cursor=01", "?cursor=9007199254740993"],
    ...["?since=2026-01-31T00:00:00Z", "?Limit=1"],
  ],
  "GET /events": [
    ...["?lastEventId=x", "?lastEventId=-1", "?lastEventId=1.5", "?lastEventId=9999999999999999"],
    ...["?lastEventId=1&lastEventId=2", "?since=1", "?lasteventid=1"],
  ],
};
