/** Plain and readable; a merchant's own style sheet comes after it and may change all of it. */
export const style = `
:root { color-scheme: light; font: 16px/1.45 system-ui, sans-serif; color: #1d2733; }
body { margin: 0 auto; padding: 1.5rem; max-width: 30rem; background: #f4f6f8; }
body.wide { max-width: 76rem; }
main { background: #fff; border: 1px solid #d9e0e7; border-radius: 10px; padding: 1.5rem; }
h1 { font-size: 1.25rem; margin: 0 0 1rem; }
h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
.notice { font-size: .85rem; color: #5a6a7a; margin: 0 0 1rem; }
.logo { max-height: 4rem; max-width: 100%; }
.total { font-size: 1.6rem; font-weight: 600; margin: 0; }
.wrong { background: #fdecea; border: 1px solid #e0a09a; border-radius: 6px; padding: .6rem .8rem; }
label, legend { display: block; margin: .9rem 0 .25rem; font-size: .9rem; }
fieldset { border: 0; margin: 0; padding: 0; }
fieldset label { display: inline-block; margin: 0 1rem 0 0; }
input:not([type=radio]), select { box-sizing: border-box; width: 100%; padding: .6rem;
  font: inherit; border: 1px solid #aab6c2; border-radius: 6px; background: #fff; }
.row { display: flex; gap: .75rem; }
.row > div { flex: 1; }
button, .button { display: inline-block; box-sizing: border-box; padding: .65rem 1rem;
  font: inherit; border: 1px solid #1d5fa8;
  border-radius: 6px; background: #1d5fa8; color: #fff; cursor: pointer;
  text-decoration: none; text-align: center; }
button.plain { background: #fff; color: #1d5fa8; }
.wide-button { width: 100%; margin-top: 1.25rem; }
.wide-button + .wide-button, form + form .wide-button { margin-top: .6rem; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; }
th, td { text-align: left; padding: .4rem .5rem; border-bottom: 1px solid #e3e8ed;
  vertical-align: top; }
td.number { text-align: right; white-space: nowrap; }
td form { display: inline-block; margin: 0 .25rem .25rem 0; }
td button { padding: .2rem .5rem; font-size: .8rem; }
td input:not([type=radio]) { width: 5rem; padding: .2rem .4rem; font-size: .8rem; }
code { font-size: .85em; overflow-wrap: anywhere; }
`;
