/** Markup that needs no escaping. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type HtmlValue = string | number | Html | readonly Html[] | undefined;

/** Returns the template as markup; its values are escaped unless they are markup. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(
    strings.map((part, i) => part + (i < values.length ? written(values[i]) : "")).join(""),
  );
}

function written(value: HtmlValue): string {
  if (value === undefined) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "object") return value.map(({ text }) => text).join("");
  return String(value)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

/** Returns a whole page; `head` follows title and style. */
export function htmlPage(
  { lang, title, head }: { lang: string; title: string; head?: Html },
  body: Html,
): string {
  return html`<!DOCTYPE html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="stylesheet" href="/sandbox/style.css">
${head}
</head>
<body>
${body}
</body>
</html>
`.text;
}

/** The pages' style; a merchant's style sheet follows and may replace it. */
export const style = `
:root { color-scheme: light; font: 16px/1.45 system-ui, sans-serif; color: #1d2733; }
body { margin: 0 auto; padding: 1.5rem; max-width: 30rem; background: #f4f6f8; }
body.wide { max-width: 86rem; }
main { background: #fff; border: 1px solid #d9e0e7; border-radius: 10px; padding: 1.5rem;
  overflow-wrap: anywhere; }
h1 { font-size: 1.25rem; margin: 0 0 1rem; }
h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
.notice { font-size: .85rem; color: #4c5b69; margin: 0 0 1rem; }
.logo { display: block; max-height: 4rem; max-width: 100%; margin: 0 0 1rem; }
.total { font-size: 1.6rem; font-weight: 600; margin: 0; }
.wrong { background: #fdecea; border: 1px solid #b3261e; border-radius: 6px; padding: .6rem .8rem; }
.outcome { border-left: .4rem solid #4c5b69; margin-top: 1.5rem; padding-left: 1rem; }
.outcome .words { font-size: 1.15rem; font-weight: 600; margin-top: 0; }
#endSuccessTransactionBlock { border-color: #17692d; }
#endErrorTransactionBlock { border-color: #b3261e; }
label, legend { display: block; margin: .9rem 0 .25rem; padding: 0; font-size: .9rem; }
fieldset { border: 0; margin: .9rem 0 0; padding: 0; min-width: 0; }
legend { margin-top: 0; }
fieldset label { display: inline-flex; align-items: center; gap: .5rem; min-height: 2.25rem;
  margin: 0 1.25rem 0 0; }
input[type=radio] { width: 1.25rem; height: 1.25rem; margin: 0; accent-color: #1d5fa8; }
input:not([type=radio]), select { box-sizing: border-box; width: 100%; height: 2.85rem;
  padding: .4rem .6rem; font: inherit; color: inherit; border: 1px solid #74828f;
  border-radius: 6px; background: #fff; }
[aria-invalid=true] { border: 2px solid #b3261e !important; }
.row { display: flex; gap: .75rem; align-items: end; }
.row > div { flex: 1; min-width: 0; }
button, .button { display: inline-block; box-sizing: border-box; padding: .65rem 1rem;
  font: inherit; border: 1px solid #1d5fa8;
  border-radius: 6px; background: #1d5fa8; color: #fff; cursor: pointer;
  text-decoration: none; text-align: center; }
button.plain { background: #fff; color: #1d5fa8; }
button:hover, .button:hover { background: #174c87; color: #fff; }
:focus-visible { outline: 3px solid #1d5fa8; outline-offset: 2px; }
.wide-button { width: 100%; margin-top: 1.25rem; }
.wide-button + .wide-button, form + form .wide-button { margin-top: .6rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; overflow-wrap: normal; }
th, td { text-align: left; padding: .4rem .5rem; border-bottom: 1px solid #e3e8ed;
  vertical-align: top; }
td.number, td.number ~ td.state, time, td code { white-space: nowrap; }
td.number { text-align: right; }
td.text { overflow-wrap: anywhere; min-width: 8rem; }
td.actions { min-width: 12rem; }
td form { display: inline-block; margin: 0 .25rem .25rem 0; }
td button { padding: .3rem .6rem; font-size: .8rem; }
td input:not([type=radio]) { width: 5rem; height: auto; padding: .3rem .4rem; font-size: .8rem; }
code { font-size: .85em; overflow-wrap: anywhere; }
/* A kiosk: a large upright screen at arm's length. */
@media (orientation: portrait) and (min-width: 1000px) {
  :root { font-size: 24px; }
  body:not(.wide) { max-width: 36rem; }
  body.wide { font-size: 18px; }
}
`;
