import { readFileSync } from "node:fs";
import type { FastifyInstance, FastifyReply } from "fastify";
import { formatMajor } from "../../../shared/money.ts";
import { pageFile } from "../../../shared/process/page-packages.ts";
import { transaction } from "../../../shared/store/sqlite.ts";
import type { Clock } from "../../../shared/time.ts";
import { websiteOf } from "../account.ts";
import { bodyBytes } from "../http/app.ts";
import type { Order, OrderState } from "../orders/order.ts";
import type { SandboxParts } from "../parts.ts";
import { maskStored, textOf } from "../soap/parameters.ts";
import catalogue from "../texts.json" with { type: "json" };
import { type Html, html, htmlPage, languageOf } from "./html.ts";
import { paymentWith, type TestCard, testCard } from "./test-cards.ts";

/**
 * The hosted payment page. Its elements have the same ids as on the real page, because browser
 * tests of merchants search for them (docs/gateway.md 2.7).
 */

type ByPage = { Params: { page: string } };

/**
 * The content security policy. Merchants can add style sheets and logos over https, but no scripts,
 * and can display the page in a frame (field method, value iframe).
 */
const pagePolicy =
  "default-src 'none'; style-src 'self' https:; img-src https:; form-action 'self'; " +
  "base-uri 'none'";

/** Adds the payment page at the address redirectUrl: at first the form, later the outcome. */
export function pageRoutes(app: FastifyInstance, parts: SandboxParts): void {
  app.get("/sandbox/style.css", (_request, reply) =>
    reply
      .type("text/css; charset=utf-8")
      .header("cache-control", "max-age=3600")
      .send(readFileSync(pageFile("simulator/gateway/pages/style.css"), "utf8")),
  );
  app.get<ByPage>("/index/ws/id/:page", (request, reply) => {
    const order = parts.orders.byPageId(request.params.page);
    return order ? show(reply, parts, order) : sendMissing(reply);
  });
  app.post<ByPage>("/index/ws/id/:page", (request, reply) => {
    const order = parts.orders.byPageId(request.params.page);
    if (!order) return sendMissing(reply);
    const form = new URLSearchParams(bodyBytes(request).toString("utf8"));
    const isOpen = order.state === "created";
    const retry = isOpen && transaction(parts.database, () => settle(form, order, parts));
    if (retry) return show(reply.code(422), parts, order, retry);
    return reply.redirect(request.url, 303);
  });
}

/** Sends the payment page. A merchant's style sheet comes last and can override the page's own. */
function show(reply: FastifyReply, { accounts, clock }: SandboxParts, order: Order, retry?: Retry) {
  const lang = languageOf(textOf(order.fields, "locale"));
  const texts: Texts = catalogue.pages[lang];
  const { state, fields } = order;
  const [title, content] =
    state === "created"
      ? [texts.title, form(order, clock, lang, texts, retry)]
      : outcome(order, state, texts);
  const css = websiteOf(accounts, order)?.css;
  const logo = textOf(fields, "urlLogo");
  const page = htmlPage(
    { lang, title, head: html`${css && html`<link rel="stylesheet" href="${css}">`}` },
    html`<main>
${logo && html`<img class="logo" src="${logo}" alt="">\n`}<h1>${texts.title}</h1>
<p class="notice">${texts.notice} ${state === "created" ? texts.testCard : ""}</p>
<p class="total" id="amount">${displayAmount(order, lang)}</p>
${boughtLines(order, texts)}
${content}
</main>`,
  );
  return send(reply, page);
}

/** Returns what is paid for, with the order's number once: "Order A-1" says nothing else. */
function boughtLines({ fields, merchantReference: reference }: Order, texts: Texts): Html {
  const parts = textOf(fields, "description").split(" ");
  const isNamed = reference !== "" && parts.includes(reference);
  const own = reference && html`<p>${texts.reference} ${reference}</p>`;
  if (isNamed && parts.length <= 2) return html`${own}`;
  return html`<p>${parts.join(" ")}</p>${isNamed ? "" : own}`;
}

function send(reply: FastifyReply, page: string): FastifyReply {
  return reply
    .type("text/html; charset=utf-8")
    .header("cache-control", "no-store")
    .header("content-security-policy", pagePolicy)
    .header("referrer-policy", "same-origin")
    .send(page);
}

/** Pays, declines or aborts an order; returns what to correct if the form has mistakes. */
function settle(form: URLSearchParams, order: Order, parts: SandboxParts): Retry | undefined {
  const { ledger, clock } = parts;
  if (form.get("action") === "abort") {
    ledger.demand(order, { kind: "abort" });
    return undefined;
  }
  const checked = checkEntry(form, clock.now());
  if ("fault" in checked) return checked;
  const { entry, card } = checked;
  const payment = paymentWith(card, {
    customerEmail: maskStored(entry.email),
    customerCountry: entry.country,
  });
  if (card.approved) ledger.accept(order, payment);
  else ledger.decline(order, payment);
  return undefined;
}

type Texts = Readonly<Record<keyof typeof catalogue.pages.en, string>>;

type EndState = Exclude<OrderState, "created">;
type Outcome = readonly [block: string, text: keyof Texts, address: string];

const accepted: Outcome = ["endSuccessTransactionBlock", "accepted", "urlAccept"];
const aborted: Outcome = ["endCancelTransactionBlock", "aborted", "urlCancel"];

/** For each state after the form: the outcome's element id and text, and the link to the shop. */
const outcomes: Readonly<Record<EndState, Outcome>> = {
  // It is not known which element the real page shows for a payment that waits.
  waiting: ["endSuccessTransactionBlock", "waiting", "urlAccept"],
  authorized: accepted,
  captured: accepted,
  refunded: accepted,
  reversed: accepted,
  cancelled: aborted,
  aborted,
  declined: ["endErrorTransactionBlock", "declined", "urlDecline"],
};

function sendMissing(reply: FastifyReply): FastifyReply {
  const lang = languageOf(reply.request.headers["accept-language"]);
  const { missing, missingWhy, missingDo } = catalogue.pages[lang];
  const content = html`<main><h1>${missing}</h1><p>${missingWhy}</p><p>${missingDo}</p></main>`;
  return send(reply.code(404), htmlPage({ lang, title: missing }, content));
}

function displayAmount({ amountMinor, decimals, currency }: Order, lang: string): string {
  const amount = formatMajor(amountMinor, decimals) as Intl.StringNumericLiteral;
  return new Intl.NumberFormat(lang, { style: "currency", currency }).format(amount);
}

/**
 * Returns title and content of the page with the outcome. The title is the outcome, because a
 * screen reader reads the title first. The link to the shop has the focus; no time limit presses.
 */
function outcome(order: Order, state: EndState, texts: Texts): readonly [string, Html] {
  const [block, text, address] = outcomes[state];
  const url = textOf(order.fields, address);
  const back = html`<a class="button" id="return_link" href="${url}" autofocus>${texts.back}</a>`;
  const content = html`<div id="${block}" class="outcome" role="status">
<p class="words">${texts[text]}</p>${url ? back : html`<p>${texts.close}</p>`}</div>`;
  return [texts[text], content];
}

/** The mistakes in the form, each with the id of its form field; texts have the same names. */
const faulty = {
  wrongEmail: "email",
  wrongNumber: "tokenCardNumber",
  wrongHolder: "tokenCardHolder",
  wrongExpiry: "tokenCardExpiryDateMonth",
  wrongCode: "tokenCardSecurityCode",
};

function form(order: Order, clock: Clock, lang: string, texts: Texts, retry?: Retry): Html {
  const entry = retry?.entry;
  const year = new Date(clock.now()).getUTCFullYear();
  const years = Array.from({ length: 12 }, (_, i) => String(year + i));
  const months = Array.from({ length: 12 }, (_, i) => String(i + 1).padStart(2, "0"));
  const input = (id: string, label: string, attributes: Html): Html =>
    html`<label for="${id}">${label}</label><input ${named(id, retry)} ${attributes}>`;
  const email = entry?.email ?? order.customerEmail;
  const emailAttributes = html`type="email" maxlength="255" value="${email}" required`;
  const holder = html`maxlength="64" value="${entry?.holder}" required`;
  const digits = (max: number): Html => html`inputmode="numeric" maxlength="${max}" required`;
  const monthId = "tokenCardExpiryDateMonth";
  const fault = (...ids: readonly string[]): Html | undefined =>
    retry && ids.includes(faulty[retry.fault])
      ? html`<p class="wrong" id="fault" role="alert">${texts[retry.fault]} ${texts.again}</p>`
      : undefined;
  return html`<form method="post" autocomplete="off">
${fault("email")}${input("email", texts.email, emailAttributes)}
<label for="country">${texts.country}</label>
<select id="country" name="country">${countryOptions(lang, entry?.country ?? "FR")}</select>
${cardTypes(texts)}
${fault("tokenCardNumber")}${input("tokenCardNumber", texts.cardNumber, digits(23))}
${fault("tokenCardHolder")}${input("tokenCardHolder", texts.cardHolder, holder)}
${fault(monthId, "tokenCardSecurityCode")}
<div class="row"><div>${select(monthId, texts.expiryMonth, months, retry)}</div>
<div>${select("tokenCardExpiryDateYear", texts.expiryYear, years, retry)}</div>
<div>${input("tokenCardSecurityCode", texts.securityCode, digits(4))}</div></div>
<button class="wide-button" id="validate_user_account_create_form"
  name="action" value="pay">${texts.pay} ${displayAmount(order, lang)}</button>
</form>
<form method="post"><button class="plain wide-button" id="cancel_payment"
  name="action" value="abort">${texts.abort}</button></form>`;
}

/** Returns the attributes id and name of a field; the field with the fault gets the focus. */
function named(id: string, retry?: Retry): Html {
  const wrong = retry !== undefined && faulty[retry.fault] === id;
  const mark = wrong ? html` aria-invalid="true" aria-describedby="fault" autofocus` : undefined;
  return html`id="${id}" name="${id}"${mark}`;
}

/** Returns a choice of card types, as browser tests click one; only the number decides the card. */
function cardTypes({ cardType }: Texts): Html {
  const types = ["Visa", "Mastercard", "American Express"];
  return html`<fieldset><legend>${cardType}</legend>${types.map((type, i) => {
    const id = `cardType${type.replace(" ", "")}`;
    return html`<label><input type="radio" id="${id}" name="cardType"
 value="${type}"${i === 0 ? html` checked` : ""}> ${type}</label>`;
  })}</fieldset>`;
}

/** Returns a list in which nothing is preselected, so that the customer has to choose. */
function select(id: string, label: string, values: readonly string[], retry?: Retry): Html {
  const options = values.map((value) => html`<option>${value}</option>`);
  return html`<label for="${id}">${label}</label><select ${named(id, retry)} required>
<option value="">–</option>${options}</select>`;
}

/** The countries in the list of the form; any other code of two letters is accepted too. */
const countries =
  "AT AU BE BG BR CA CH CN CY CZ DE DK EE ES FI FR GB GR HR HU IE IN IT JP LT LU LV MT NL NO PL " +
  "PT RO SE SI SK US";

function countryOptions(lang: string, chosen: string): Html[] {
  const names = new Intl.DisplayNames([lang], { type: "region" });
  return countries
    .split(" ")
    .map((code) => ({ code, name: names.of(code) ?? code }))
    .sort((a, b) => a.name.localeCompare(b.name, lang))
    .map(
      ({ code, name }) =>
        html`<option value="${code}"${code === chosen ? html` selected` : ""}>${name}</option>`,
    );
}

/** The entries of the customer, without card number and security code. */
interface Entry {
  readonly email: string;
  readonly country: string;
  readonly holder: string;
}

interface Retry {
  readonly entry: Entry;
  readonly fault: keyof typeof faulty;
}

type CheckedEntry = { readonly entry: Entry; readonly card: TestCard } | Retry;

/** Checks a form. Card number and security code are not returned. */
function checkEntry(form: URLSearchParams, nowMs: number): CheckedEntry {
  const field = (name: string, lengthMax: number): string =>
    (form.get(name) ?? "").trim().slice(0, lengthMax);
  const country = field("country", 2).toUpperCase();
  const entry: Entry = {
    email: field("email", 256),
    country: /^[A-Z]{2}$/.test(country) ? country : "FR",
    holder: field("tokenCardHolder", 64),
  };
  const card = testCard(field("tokenCardNumber", 40).replace(/[ -]/g, ""));
  if (!/^(?!.{256})[^\s@]+@[^\s@]+$/.test(entry.email)) return { entry, fault: "wrongEmail" };
  if (!card) return { entry, fault: "wrongNumber" };
  if (entry.holder === "") return { entry, fault: "wrongHolder" };
  const month = field("tokenCardExpiryDateMonth", 2);
  const year = field("tokenCardExpiryDateYear", 4);
  if (!isOpen(month, year, nowMs)) return { entry, fault: "wrongExpiry" };
  if (!/^\d{3,4}$/.test(field("tokenCardSecurityCode", 5))) return { entry, fault: "wrongCode" };
  return { entry, card };
}

/** Returns whether a card is still valid: a card is valid until the last day of its month. */
function isOpen(month: string, year: string, nowMs: number): boolean {
  if (!/^(0?[1-9]|1[0-2])$/.test(month) || !/^\d{4}$/.test(year)) return false;
  return Date.UTC(Number(year), Number(month), 1) > nowMs;
}
