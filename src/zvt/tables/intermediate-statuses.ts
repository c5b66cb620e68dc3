import type { Texts } from "./result-codes.ts";

/**
 * The status codes of 04 FF, docs/zvt.md 11.3. Where that table marks a code with x, the German
 * text is word for word what a certified unattended terminal without its own display has to show.
 */
type Row = readonly [code: number, en: string, fr: string, de: string];

const rows: readonly Row[] = [
  [0x00, "Please confirm the amount", "Confirmez le montant", "Bitte Betrag bestätigen"],
  [0x01, "Look at the PIN pad", "Regardez le clavier", "Bitte Anzeigen auf dem PIN-Pad beachten"],
  [0x02, "Look at the PIN pad", "Regardez le clavier", "Bitte Anzeigen auf dem PIN-Pad beachten"],
  [0x03, "Not possible", "Opération impossible", "Vorgang nicht möglich"],
  [0x04, "Waiting for the bank", "Attente de la banque", "Warten auf Antwort der Bank"],
  [0x05, "Reversing", "Annulation en cours", "Automatischer Storno"],
  [0x06, "Posting", "Transmission en cours", "Nachbuchungen"],
  [0x07, "Card not accepted", "Carte non acceptée", "Karte nicht zugelassen"],
  [0x08, "Card unknown", "Carte inconnue", "Karte unbekannt / undefiniert"],
  [0x09, "Card expired", "Carte expirée", "Karte verfallen"],
  [0x0a, "Insert your card", "Insérez votre carte", "Karte einstecken"],
  [0x0b, "Remove your card", "Retirez votre carte", "Bitte Karte entnehmen"],
  [0x0c, "Card unreadable", "Carte illisible", "Karte nicht lesbar"],
  [0x0d, "Cancelled", "Opération interrompue", "Vorgang abgebrochen"],
  [0x0e, "Please wait", "Veuillez patienter", "Vorgang wird bearbeitet bitte warten..."],
  [0x0f, "End of day running", "Clôture en cours", "Automatischer Kassenabschluss"],
  [0x10, "Card invalid", "Carte invalide", "Karte ungültig"],
  [0x11, "Your balance", "Votre solde", "Guthabenanzeige"],
  [0x12, "Out of order", "Panne du système", "Systemfehler"],
  [0x13, "Payment not possible", "Paiement impossible", "Zahlung nicht möglich"],
  [0x14, "Credit too low", "Solde insuffisant", "Guthaben nicht ausreichend"],
  [0x15, "Wrong PIN", "Code faux", "Geheimzahl falsch"],
  [0x16, "Limit too low", "Plafond insuffisant", "Limit nicht ausreichend"],
  [0x17, "Please wait", "Veuillez patienter", "Bitte warten..."],
  [0x18, "Wrong PIN too often", "Trop de codes faux", "Geheimzahl zu oft falsch"],
  [0x19, "Card data wrong", "Données de carte fausses", "Kartendaten falsch"],
  [0x1a, "Service mode", "Mode maintenance", "Servicemodus"],
  [0x1b, "Approved, please fill up", "Servez-vous", "Autorisierung erfolgt. Bitte tanken"],
  [
    0x1c,
    "Paid, please take your goods",
    "Payé, prenez votre article",
    "Zahlung erfolgt. Bitte Ware entnehmen",
  ],
  [0x1d, "Declined", "Refusé", "Autorisierung nicht möglich"],
  [0x26, "Enter your mobile number", "Numéro de mobile", "Mobilnummer eingeben"],
  [0x27, "Repeat your mobile number", "Répétez le numéro", "Mobilnummer wiederholen"],
  [0x28, "Choose the currency", "Choisissez la devise", "Währung wählen"],
  [0x29, "Choose the language", "Choisissez la langue", "Sprache wählen"],
  [0x2a, "Hold the card to load it", "Présentez la carte", "Karte zum Laden vorhalten"],
  [0x2b, "Offline payment", "Paiement hors ligne", "Offline-Zahlung"],
  [0x2c, "Choose the application", "Choisissez l'application", "Anwendung wählen"],
  [0x66, "Mobile number", "Numéro de mobile", "Mobilnummer"],
  [0x67, "Repeat your mobile number", "Répétez le numéro", "Mobilnummer wiederholen"],
  [0x68, "Customer card inserted", "Carte client insérée", "Kundenkarte wurde gesteckt"],
  [0x69, "Choose your currency", "Choisissez votre devise", "Heimatwährung wählen"],
  [0xc7, "Enter the mileage", "Kilométrage", "Kilometerstand eingeben"],
  [0xc8, "Cashier", "Caissier", "Kassierer"],
  [0xc9, "Diagnosis running", "Diagnostic en cours", "Automatische Diagnose"],
  [0xca, "Initialisation running", "Initialisation en cours", "Automatische Initialisierung"],
  [0xcb, "Journal full", "Journal plein", "Journal voll"],
  [0xcc, "Enter your PIN", "Saisissez votre code", "Geheimzahl eingeben"],
  [0xd2, "Connecting", "Connexion", "Verbindungsaufbau"],
  [0xd3, "Connected", "Connecté", "Verbindung steht"],
  [0xe0, "Choose the application", "Choisissez l'application", "Anwendung wählen"],
  [0xe1, "Choose the language", "Choisissez la langue", "Sprache wählen"],
  [0xe2, "Use the cleaning card", "Carte de nettoyage", "Reinigungskarte stecken"],
  [0xf1, "Offline", "Hors ligne", "Offline"],
  [0xf2, "Online", "En ligne", "Online"],
  [0xf3, "Offline transaction", "Transaction hors ligne", "Offline-Transaktion"],
  // Seen on Ingenico devices (docs/zvt.md 11.3).
  [0xa0, "Paid", "Payé", "Zahlung erfolgt"],
  [0xa1, "Paid, remove your card", "Payé, retirez la carte", "Bezahlt, Karte entnehmen"],
  [0xa2, "Cancelled", "Annulé", "Abgebrochen"],
  [0xa3, "Cancelled, remove your card", "Retirez la carte", "Abgebrochen, Karte entnehmen"],
  [0xa4, "Cannot be cancelled", "Annulation impossible", "Abbruch nicht möglich"],
  [0xa5, "Remove your card", "Retirez la carte", "Bitte Karte entnehmen"],
];

const byCode = new Map<number, Texts>(rows.map(([code, en, fr, de]) => [code, { en, fr, de }]));

/**
 * docs/zvt.md 11.3: 40 added to a code up to 27 means the same, and that the card shall be taken.
 */
const CARD_REMOVAL = 0x40;
const CARD_REMOVAL_MIN = 0x41;
const CARD_REMOVAL_MAX = 0x67;
const removal: Texts = {
  en: "Please remove your card",
  fr: "Retirez votre carte",
  de: "Bitte Karte entnehmen",
};

/** null: the code says nothing, as FF does; then the text comes with the message. */
export function intermediateTexts(code: number): Texts | null {
  const own = byCode.get(code);
  if (own) return own;
  if (code < CARD_REMOVAL_MIN || code > CARD_REMOVAL_MAX) return null;
  const plain = byCode.get(code - CARD_REMOVAL);
  if (!plain) return null;
  const both = (language: keyof Texts) => `${plain[language]}. ${removal[language]}`;
  return { en: both("en"), fr: both("fr"), de: both("de") };
}
