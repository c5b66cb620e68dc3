/** The texts of the payment page (docs/design.md 12.10, field locale). */
const en = {
  title: "Payment",
  notice: "Test environment: only test cards are taken, no money moves.",
  reference: "Order no.",
  email: "E-mail address",
  country: "Country",
  cardType: "Card",
  cardNumber: "Card number",
  cardHolder: "Name on the card",
  expiryMonth: "Expiry month",
  expiryYear: "Expiry year",
  securityCode: "Security code",
  pay: "Pay",
  abort: "Cancel the payment",
  back: "Back to the shop",
  leaving: "You are taken back to the shop in a few seconds.",
  waiting: "Your payment is being checked.",
  accepted: "Your payment was accepted.",
  declined: "Your payment was declined.",
  aborted: "You cancelled the payment.",
  wrongEmail: "Please enter an e-mail address of at most 255 characters.",
  wrongNumber: "This is not one of the test cards. Never enter a real card here.",
  wrongHolder: "Please enter the name on the card.",
  wrongExpiry: "The card has expired, or the date is not complete.",
  wrongCode: "The security code has three or four digits.",
};

export type Texts = Readonly<Record<keyof typeof en, string>>;

const fr: Texts = {
  title: "Paiement",
  notice: "Environnement de test : cartes de test uniquement, rien n’est débité.",
  reference: "Commande n°",
  email: "Adresse e-mail",
  country: "Pays",
  cardType: "Carte",
  cardNumber: "Numéro de carte",
  cardHolder: "Nom du porteur",
  expiryMonth: "Mois d’expiration",
  expiryYear: "Année d’expiration",
  securityCode: "Cryptogramme",
  pay: "Payer",
  abort: "Annuler le paiement",
  back: "Retour à la boutique",
  leaving: "Vous retournez à la boutique dans quelques secondes.",
  waiting: "Votre paiement est en cours de vérification.",
  accepted: "Votre paiement a été accepté.",
  declined: "Votre paiement a été refusé.",
  aborted: "Vous avez annulé le paiement.",
  wrongEmail: "Saisissez une adresse e-mail de 255 caractères au plus.",
  wrongNumber: "Ce n’est pas une carte de test. Ne saisissez jamais une vraie carte ici.",
  wrongHolder: "Saisissez le nom du porteur.",
  wrongExpiry: "La carte a expiré ou la date est incomplète.",
  wrongCode: "Le cryptogramme compte trois ou quatre chiffres.",
};

const es: Texts = {
  title: "Pago",
  notice: "Entorno de prueba: solo se aceptan tarjetas de prueba, no se cobra nada.",
  reference: "Pedido n.º",
  email: "Correo electrónico",
  country: "País",
  cardType: "Tarjeta",
  cardNumber: "Número de tarjeta",
  cardHolder: "Titular de la tarjeta",
  expiryMonth: "Mes de caducidad",
  expiryYear: "Año de caducidad",
  securityCode: "Código de seguridad",
  pay: "Pagar",
  abort: "Cancelar el pago",
  back: "Volver a la tienda",
  leaving: "Volverá a la tienda en unos segundos.",
  waiting: "Su pago se está comprobando.",
  accepted: "Su pago ha sido aceptado.",
  declined: "Su pago ha sido rechazado.",
  aborted: "Ha cancelado el pago.",
  wrongEmail: "Introduzca un correo electrónico de 255 caracteres como máximo.",
  wrongNumber: "No es una tarjeta de prueba. No introduzca nunca aquí una tarjeta real.",
  wrongHolder: "Introduzca el titular de la tarjeta.",
  wrongExpiry: "La tarjeta ha caducado o la fecha no está completa.",
  wrongCode: "El código de seguridad tiene tres o cuatro cifras.",
};

const it: Texts = {
  title: "Pagamento",
  notice: "Ambiente di prova: si accettano solo carte di prova, nulla viene addebitato.",
  reference: "Ordine n.",
  email: "Indirizzo e-mail",
  country: "Paese",
  cardType: "Carta",
  cardNumber: "Numero della carta",
  cardHolder: "Titolare della carta",
  expiryMonth: "Mese di scadenza",
  expiryYear: "Anno di scadenza",
  securityCode: "Codice di sicurezza",
  pay: "Paga",
  abort: "Annulla il pagamento",
  back: "Torna al negozio",
  leaving: "Tra pochi secondi torna al negozio.",
  waiting: "Il pagamento è in corso di verifica.",
  accepted: "Il pagamento è stato accettato.",
  declined: "Il pagamento è stato rifiutato.",
  aborted: "Ha annullato il pagamento.",
  wrongEmail: "Inserisca un indirizzo e-mail di 255 caratteri al massimo.",
  wrongNumber: "Non è una carta di prova. Non inserisca mai qui una carta vera.",
  wrongHolder: "Inserisca il titolare della carta.",
  wrongExpiry: "La carta è scaduta o la data non è completa.",
  wrongCode: "Il codice di sicurezza ha tre o quattro cifre.",
};

const languages: Readonly<Record<string, Texts>> = { en, fr, es, it };

/** Returns language and texts for an order's locale; English if there are none. */
export function textsFor(locale: string): { lang: string; texts: Texts } {
  const lang = locale.slice(0, 2);
  const texts = languages[lang];
  return texts ? { lang, texts } : { lang: "en", texts: en };
}
