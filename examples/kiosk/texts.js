/* The kiosk's own words. What an outcome means for the customer stands in customer-messages.js. */

import { customerLanguages } from "./customer-messages.js";

/**
 * @typedef {import("./customer-messages.js").CustomerLanguage} Language
 * @typedef {Readonly<Record<Language, string>>} Text
 */

export const texts = /** @satisfies {Record<string, Text>} */ ({
  title: {
    en: "Ticket machine",
    fr: "Billetterie",
    de: "Fahrkarten",
    it: "Biglietteria",
    es: "Venta de billetes",
  },
  choose: {
    en: "Which ticket would you like?",
    fr: "Quel billet souhaitez-vous ?",
    de: "Welche Fahrkarte möchten Sie?",
    it: "Quale biglietto desidera?",
    es: "¿Qué billete desea?",
  },
  "old-town": {
    en: "Old town",
    fr: "Vieille ville",
    de: "Altstadt",
    it: "Centro storico",
    es: "Casco antiguo",
  },
  airport: {
    en: "Airport",
    fr: "Aéroport",
    de: "Flughafen",
    it: "Aeroporto",
    es: "Aeropuerto",
  },
  day: {
    en: "Day ticket",
    fr: "Billet à la journée",
    de: "Tageskarte",
    it: "Biglietto giornaliero",
    es: "Billete de un día",
  },
  moment: {
    en: "One moment, please.",
    fr: "Un instant, s’il vous plaît.",
    de: "Einen Moment, bitte.",
    it: "Un momento, per favore.",
    es: "Un momento, por favor.",
  },
  asked: {
    en: "You have asked to cancel this payment.",
    fr: "Vous avez demandé l’annulation de ce paiement.",
    de: "Sie haben um den Abbruch dieser Zahlung gebeten.",
    it: "Ha chiesto di annullare questo pagamento.",
    es: "Ha pedido cancelar este pago.",
  },
  printing: {
    en: "Your ticket is being printed.",
    fr: "Votre billet est en cours d’impression.",
    de: "Ihre Fahrkarte wird gedruckt.",
    it: "Il Suo biglietto è in stampa.",
    es: "Se está imprimiendo su billete.",
  },
  take: {
    en: "Please take your ticket.",
    fr: "Veuillez prendre votre billet.",
    de: "Bitte nehmen Sie Ihre Fahrkarte.",
    it: "Prenda il Suo biglietto, per favore.",
    es: "Recoja su billete de viaje, por favor.",
  },
  keep: {
    en: "Your ticket came out. Please keep it and show it to the staff.",
    fr: "Votre billet est sorti. Veuillez le garder et le montrer au personnel.",
    de: "Ihre Fahrkarte wurde ausgegeben. Bitte behalten und zeigen Sie sie dem Personal.",
    it: "Il Suo biglietto è uscito. Lo conservi e lo mostri al personale, per favore.",
    es: "Su billete ha salido. Guárdelo y muéstrelo al personal, por favor.",
  },
  call: {
    en: "It is not known whether your ticket came out. Please ask the staff.",
    fr: "On ne sait pas si votre billet est sorti. Adressez-vous au personnel, s’il vous plaît.",
    de: "Es ist nicht bekannt, ob Ihre Fahrkarte ausgegeben wurde. Bitte fragen Sie das Personal.",
    it: "Non si sa se il Suo biglietto è uscito. Si rivolga al personale, per favore.",
    es: "No se sabe si ha salido su billete. Consulte al personal, por favor.",
  },
  away: {
    en: "The payment system does not answer. Please wait; do not pay again.",
    fr: "Le système de paiement ne répond pas. Veuillez patienter ; ne payez pas de nouveau.",
    de: "Das Zahlungssystem antwortet nicht. Bitte warten Sie; zahlen Sie nicht noch einmal.",
    it: "Il sistema di pagamento non risponde. Attenda, per favore; non paghi di nuovo.",
    es: "El sistema de pago no responde. Espere, por favor; no pague de nuevo.",
  },
  lost: {
    en: "Please wait: this screen is being started again.",
    fr: "Veuillez patienter : cet écran redémarre.",
    de: "Bitte warten: Dieser Bildschirm wird neu gestartet.",
    it: "Attenda, per favore: questa schermata si riavvia.",
    es: "Espere, por favor: esta pantalla se reinicia.",
  },
  closed: {
    en: "Out of service",
    fr: "Hors service",
    de: "Außer Betrieb",
    it: "Fuori servizio",
    es: "Fuera de servicio",
  },
  elsewhere: {
    en:
      "Card payment is not possible here at the moment. Please use another machine or ask the " +
      "staff.",
    fr:
      "Le paiement par carte n’est pas possible ici pour le moment. Veuillez utiliser une autre " +
      "machine ou vous adresser au personnel.",
    de:
      "Kartenzahlung ist hier zurzeit nicht möglich. Bitte benutzen Sie einen anderen " +
      "Automaten oder fragen Sie das Personal.",
    it:
      "Al momento qui non è possibile pagare con carta. Usi un’altra macchina, per favore, o si " +
      "rivolga al personale.",
    es:
      "En este momento no es posible pagar aquí con tarjeta. Utilice otra máquina, por favor, o " +
      "consulte al personal.",
  },
  left: {
    en: "Time left: {time}",
    fr: "Temps restant : {time}",
    de: "Verbleibende Zeit: {time}",
    it: "Tempo rimanente: {time}",
    es: "Tiempo restante: {time}",
  },
  hurry: {
    en: "The time for this payment is nearly over.",
    fr: "Le temps pour ce paiement est presque écoulé.",
    de: "Die Zeit für diese Zahlung ist fast abgelaufen.",
    it: "Il tempo per questo pagamento sta per scadere.",
    es: "El tiempo para este pago está a punto de agotarse.",
  },
  stays: {
    en: "This page closes in {time}. Touch the screen or press a key if you need longer.",
    fr:
      "Cette page se ferme dans {time}. Touchez l’écran ou appuyez sur une touche s’il vous faut " +
      "plus de temps.",
    de:
      "Diese Seite schließt sich in {time}. Berühren Sie den Bildschirm oder drücken Sie eine " +
      "Taste, wenn Sie mehr Zeit brauchen.",
    it:
      "Questa pagina si chiude tra {time}. Tocchi lo schermo o prema un tasto se ha bisogno di " +
      "più tempo.",
    es:
      "Esta página se cierra en {time}. Toque la pantalla o pulse una tecla si necesita más " +
      "tiempo.",
  },
  languages: { en: "Language", fr: "Langue", de: "Sprache", it: "Lingua", es: "Idioma" },
  aids: {
    en: "Display and speech",
    fr: "Affichage et voix",
    de: "Darstellung und Vorlesen",
    it: "Visualizzazione e voce",
    es: "Visualización y voz",
  },
  large: {
    en: "Large text",
    fr: "Grands caractères",
    de: "Große Schrift",
    it: "Testo grande",
    es: "Texto grande",
  },
  contrast: {
    en: "High contrast",
    fr: "Contraste élevé",
    de: "Hoher Kontrast",
    it: "Contrasto elevato",
    es: "Alto contraste",
  },
  aloud: {
    en: "Read aloud",
    fr: "Lire à voix haute",
    de: "Vorlesen",
    it: "Leggi ad alta voce",
    es: "Leer en voz alta",
  },
  attendant: {
    en: "For the staff",
    fr: "Pour le personnel",
    de: "Für das Personal",
    it: "Per il personale",
    es: "Para el personal",
  },
  done: { en: "Done", fr: "Réglé", de: "Erledigt", it: "Fatto", es: "Hecho" },
  "charged-yes": {
    en: "The card was charged",
    fr: "La carte a été débitée",
    de: "Die Karte wurde belastet",
    it: "L’importo è stato addebitato sulla carta",
    es: "El importe se ha cobrado en la tarjeta",
  },
  "charged-no": {
    en: "The card was not charged",
    fr: "La carte n’a pas été débitée",
    de: "Die Karte wurde nicht belastet",
    it: "Sulla carta non è stato addebitato nulla",
    es: "No se ha cobrado nada en la tarjeta",
  },
  "charged-unknown": {
    en: "It is not known yet whether the card was charged",
    fr: "On ne sait pas encore si la carte a été débitée",
    de: "Noch ist nicht bekannt, ob die Karte belastet wurde",
    it: "Non si sa ancora se l’importo è stato addebitato sulla carta",
    es: "Todavía no se sabe si el importe se ha cobrado en la tarjeta",
  },
  "goods-yes": {
    en: "the ticket came out",
    fr: "le billet est sorti",
    de: "die Fahrkarte wurde ausgegeben",
    it: "il biglietto è uscito",
    es: "el billete ha salido",
  },
  "goods-no": {
    en: "the ticket did not come out",
    fr: "le billet n’est pas sorti",
    de: "die Fahrkarte wurde nicht ausgegeben",
    it: "il biglietto non è uscito",
    es: "el billete no ha salido",
  },
  "goods-unknown": {
    en: "it is not known whether the ticket came out",
    fr: "on ne sait pas si le billet est sorti",
    de: "es ist nicht bekannt, ob die Fahrkarte ausgegeben wurde",
    it: "non si sa se il biglietto è uscito",
    es: "no se sabe si el billete ha salido",
  },
  order: {
    en: "Order number:",
    fr: "Numéro de commande :",
    de: "Bestellnummer:",
    it: "Numero d’ordine:",
    es: "Número de pedido:",
  },
  cancel: { en: "Cancel", fr: "Annuler", de: "Abbrechen", it: "Annulla", es: "Cancelar" },
  again: {
    en: "Try again",
    fr: "Réessayer",
    de: "Noch einmal versuchen",
    it: "Riprova",
    es: "Intentar de nuevo",
  },
  finish: { en: "Finish", fr: "Terminer", de: "Beenden", it: "Fine", es: "Terminar" },
  ok: { en: "OK", fr: "OK", de: "OK", it: "OK", es: "OK" },
});

const CHOSEN = "language";
/** The first language of the browser that this page speaks. */
const own = navigator.languages
  .map((one) => one.slice(0, 2))
  .find((one) => /** @type {readonly string[]} */ (customerLanguages).includes(one));
const first = /** @type {Language} */ (own ?? "en");
/** @type {{language: Language}} what is spoken now */
export const spoken = { language: /** @type {any} */ (sessionStorage.getItem(CHOSEN)) ?? first };
const languageButtons = document.querySelectorAll("#languages button");
/** An owner's own title of the page stays as it is. */
const isOwnTitle = !Object.values(texts.title).includes(document.title);

/**
 * @param {keyof typeof texts} name of an order that an older page kept it may be another word
 * @returns {string}
 */
export const say = (name) => texts[name]?.[spoken.language] ?? name;

/** @param {number} amount that no line breaks */
export const money = (amount) =>
  `${amount.toFixed(2).replace(".", spoken.language === "en" ? "." : ",")}\u00a0EUR`;

/**
 * A time as it is read aloud, such as "2 minutes 30 seconds".
 * @param {number} seconds
 */
export function duration(seconds) {
  /** @type {(value: number, unit: string) => string} */
  const inUnits = (value, unit) =>
    new Intl.NumberFormat(spoken.language, { style: "unit", unit, unitDisplay: "long" }).format(
      value,
    );
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60];
  if (minutes === 0) return inUnits(rest, "second");
  return inUnits(minutes, "minute") + (rest === 0 ? "" : ` ${inUnits(rest, "second")}`);
}

/**
 * The words and prices that stand on the page, in another language; a reload keeps it.
 * @param {Language} [language] undefined: the one that the kiosk begins with
 */
export function speak(language = first) {
  spoken.language = language;
  sessionStorage.setItem(CHOSEN, language);
  document.documentElement.lang = language;
  if (!isOwnTitle) document.title = say("title");
  /** @type {NodeListOf<any>} */
  const worded = document.querySelectorAll("[data-text], [data-amount], [data-label]");
  for (const element of worded) {
    const { text, amount, label } = element.dataset;
    if (text) element.textContent = say(text);
    else if (amount) element.textContent = money(Number(amount));
    else element.setAttribute("aria-label", say(label));
  }
  for (const button of /** @type {NodeListOf<any>} */ (languageButtons)) {
    button.setAttribute("aria-pressed", String(button.lang === language));
  }
}
