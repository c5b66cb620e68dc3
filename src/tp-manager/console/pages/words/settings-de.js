/** The help of each name of the setup file; the English one comes with the setting. */
export default {
  "setting.SERIAL_PORT":
    "Wo das Terminal ist: eine serielle Schnittstelle, ein USB-Gerät oder ein Terminal im Netz.",
  "setting.LOCAL_PORT": "Port der lokalen API, nur auf dieser Maschine.",
  "setting.CONSOLE_PORT":
    "Port dieser Konsole, nur auf dieser Maschine; 0 für keine. Ohne Angabe LOCAL_PORT und 1, oder und 2, wo das NOTIFICATION_PORT ist.",
  "setting.KIOSK_PORT": "Port der eigenen Seiten des Kiosks, nur auf dieser Maschine; 0 für keine.",
  "setting.KIOSK_APP":
    "Ordner mit den eigenen Seiten des Kiosks, die KIOSK_PORT zeigt: docs/browser-kiosk.md.",
  "setting.TERMINAL_MANAGER_LOGIN": "Login der lokalen API (Basic).",
  "setting.TERMINAL_MANAGER_PWD": "Passwort der lokalen API.",
  "setting.OPERATOR_LOGIN": "Login für die Pflege, die das Paar des Kiosks dann nicht mehr darf.",
  "setting.OPERATOR_PWD": "Passwort für die Pflege.",
  "setting.SERIAL_BAUD": "Geschwindigkeit der seriellen Leitung.",
  "setting.SERIAL_STOP_BITS": "Stoppbits der seriellen Leitung.",
  "setting.TERMINAL_SHARED":
    "Auch andere werden an diesem Terminal bezahlt: Seine Summen werden nicht mit dem Journal verglichen.",
  "setting.TERMINAL_PASSWORD": "Das Kassenpasswort des Terminals.",
  "setting.TICKET_WIDTH": "Zeichen in einer Zeile des Belegs.",
  "setting.LANGUAGE": "Sprache der Texte über Anzeigen und Ergebnisse des Terminals.",
  "setting.CURRENCY": "Währung der Zahlungen, die keine nennen.",
  "setting.PAYMENT_TIMEOUT":
    "Sekunden für eine ganze Zahlung; dann wird das Terminal um den Abbruch gebeten.",
  "setting.PAYMENT_GRACE":
    "Sekunden, die der Kiosk über PAYMENT_TIMEOUT hinaus auf das Ende des Terminals wartet.",
  "setting.REPEAT_MUST_MATCH":
    "Was an einer wiederholten Bestellung gleich sein muss; amount: Andere Ware wird in warnings genannt.",
  "setting.ALLOWED_ORIGINS":
    "Ursprünge der Webseiten, die die lokale API rufen dürfen; sonst keine.",
  "setting.GATEWAY_URL": "Basisadresse der SOAP-Dienste des Gateways.",
  "setting.GATEWAY_LOGIN": "Benutzername der öffentlichen API beim Gateway.",
  "setting.GATEWAY_PWD": "Passwort der öffentlichen API beim Gateway.",
  "setting.GATEWAY_WEBSITE_ID": "Nummer der Website im Händlerkonto.",
  "setting.GATEWAY_CATEGORY_ID": "Kategorie der Bestellungen; das Gateway nennt die einer Website.",
  "setting.GATEWAY_CALLBACK_URL": "Adresse, an die das Gateway seine Meldungen schickt.",
  "setting.GATEWAY_LOCALE": "Sprache und Land der Mails und Seiten des Gateways.",
  "setting.GATEWAY_RATING": "Altersklasse der Bestellungen.",
  "setting.GATEWAY_CUSTOMER_IP": "Adresse, die als die des Kunden genannt wird.",
  "setting.GATEWAY_API_KEY":
    "Schlüssel für das Nachschlagen beim Gateway; ohne ihn Login und Passwort.",
  "setting.GATEWAY_CA_FILE":
    "Datei mit Zertifikaten (PEM), denen neben denen des Systems vertraut wird.",
  "setting.NOTIFICATION_PORT":
    "Port, auf dem Meldungen des Gateways angenommen werden; ohne ihn keine.",
  "setting.NOTIFICATION_HOST": "Adresse, auf der Meldungen angenommen werden.",
  "setting.NOTIFICATION_DIGEST_SECRETS":
    "Was außer GATEWAY_PWD Meldungen unterschreiben darf: das Salz einer Website, ein altes Passwort.",
  "setting.NOTIFICATION_SECRET":
    "Passphrase, die die Betrugsmeldung des Gateways unterschreibt; ohne sie wird keine angenommen.",
  "setting.GATEWAY_WAIT":
    "Millisekunden, die die Antwort einer Zahlung auf die erste Antwort des Gateways wartet.",
  "setting.GATEWAY_TIMEOUT": "Millisekunden, die eine Anfrage an das Gateway dauern darf.",
  "setting.FLEET_URL":
    "Adresse des Brokers (MQTT 5), der erfährt, wie es diesem Kiosk geht; ohne sie keiner. Ein Kiosk ohne Strom gilt nach 45 s als verloren (Lebenszeichen alle 30 s).",
  "setting.FLEET_ID": "Name dieses Kiosks in der Flotte, für jeden Kiosk ein anderer.",
  "setting.FLEET_USER": "Login beim Broker.",
  "setting.FLEET_PASSWORD": "Passwort beim Broker.",
  "setting.FLEET_CERT_FILE": "Datei mit dem Client-Zertifikat für den Broker (PEM).",
  "setting.FLEET_KEY_FILE": "Datei mit dem Schlüssel des Client-Zertifikats (PEM).",
  "setting.FLEET_CA_FILE":
    "Datei mit Zertifikaten (PEM), denen beim Broker neben denen des Systems vertraut wird.",
  "setting.FLEET_PAYMENTS":
    "Sagt der Flotte das Ende jeder Zahlung: Betrag und Ausgang, nichts vom Kunden.",
  "setting.FLEET_COMMANDS": "Nimmt die Bitten der Flotte an; keine davon erreicht das Terminal.",
  "setting.FLEET_UPLOAD_URL":
    "Adresse, unter die sich die Flotte ein Paket für den Support schicken lassen darf.",
  "setting.UPDATE_TIME":
    "Uhrzeit für Updates und die täglichen Arbeiten: Sicherung, Archiv, alte Logs.",
  "setting.UPDATE_URL": "Adresse der signierten Updates; ohne sie wird niemand gefragt.",
  "setting.UPDATE_CHANNEL": "Kanal des Herausgebers, aus dem Updates genommen werden.",
  "setting.UPDATE_CA_FILE":
    "Datei mit Zertifikaten (PEM), denen für UPDATE_URL statt denen des Systems vertraut wird.",
  "setting.AUTO_END_OF_DAY":
    "Macht den Kassenschnitt, wenn das Terminal ihn verlangt; Verkäufe von vorher können nicht mehr storniert werden.",
  "setting.LOG_DAYS": "Tage, für die Logs aufbewahrt werden.",
  "setting.JOURNAL_DAYS":
    "Tage, für die Journal und Ausgang jede Einzelheit behalten; was belastet wurde, bleibt für immer.",
  "setting.LOG_LEVEL":
    "Wie viel geloggt wird: debug auch jede Nachricht der Leitung, ohne Kartendaten.",
  "setting.TERMINAL_PROTOCOL": "Protokoll, das das Terminal spricht.",
  "setting.ZVT_CONFIG_BYTE":
    "Konfigurationsbyte der Registrierung: BE druckt Zeile für Zeile, 3E aus dem Ergebnis.",
  "setting.ZVT_PROFILE": "Terminal oder Anbieter, dessen Eigenheiten befolgt werden.",
  "setting.ZVT_CHARSET":
    "Zeichensatz eines Terminals, das keinen nennt; sonst der von ZVT_PROFILE, cp437.",
  "setting.ZVT_MESSAGE_IDS":
    "Nummerierte Nachrichten (1F73): auto nimmt sie, wenn das Terminal zustimmt.",
  "setting.ZVT_SEND_LAST_RECEIPT":
    "Nennt den letzten bekannten Beleg (1F1F): Das Terminal storniert eine Zahlung, die wir verpasst haben.",
  "setting.ZVT_PRINTS_COUNT":
    "Das Terminal behält einen Verkauf erst, wenn sein Druck bestätigt ist; sonst storniert es ihn.",
  "setting.ZVT_LOG_OFF":
    "Log-Off bei jedem Anhalten: gibt die Tasten des Terminals frei bis zum nächsten Start.",
  "setting.ZVT_T1_MS": "Längste Stille zwischen zwei Bytes einer seriellen Nachricht (PA00P016).",
  "setting.ZVT_T2_MS": "Längstes Warten auf die Bestätigung einer seriellen Nachricht.",
  "setting.ZVT_T3_MS": "Längstes Warten auf die Antwort auf einen Befehl.",
  "setting.ZVT_T4_MS": "Längste Stille des Terminals, während es einen Befehl ausführt.",
  "setting.POLL_INTERVAL_MS": "Wie oft ein ruhendes Terminal nach seinem Zustand gefragt wird.",
  "setting.RECOVERY_SILENCE_MS":
    "Stille auf der Leitung, bevor nach einer verlorenen Zahlung gefragt wird.",
  "setting.CONCERT_VARIANT":
    "Form der Anfrage: e, e-plus mit zwei Optionen, e-ticket mit verlangtem Beleg.",
  "setting.CONCERT_REPORT": "Verlangt den Bericht mit der maskierten Kartennummer.",
  "setting.CONCERT_REGISTER": "Nummer dieser Kasse, wie das Terminal sie vielleicht erwartet.",
  "setting.CONCERT_LINE":
    "Datenbits, Parität und Stoppbits einer seriellen Leitung; 7E1, und 8N1 für Namen mit usb: und das Profil pax-nepting.",
  "setting.CONCERT_PROFILE": "Terminal, dessen Eigenheiten befolgt werden.",
  "setting.CAISSE_AP_LINK":
    "Nachrichten bloß, jede mit eigener Verbindung, oder in den Sitzungen einer seriellen Leitung.",
  "setting.CAISSE_AP_VERSION": "Version, die Anfragen nennen.",
  "setting.CAISSE_AP_ID": "Kennung der Kassensoftware (CJ), zwölf Ziffern.",
  "setting.CAISSE_AP_END": "Was einer bloßen Anfrage folgt: nichts, oder ein Zeilenende.",
  "setting.CAISSE_AP_REFERENCE":
    "Feld, das den Verweis auf die Bestellung trägt; cf, und keines für das Profil ingenico-desk5000.",
  "setting.CAISSE_AP_RECEIPT": "Verlangt den Beleg des Kunden, der zum Ticket wird.",
  "setting.TEST_TIMERS":
    "Erlaubt kürzere Zeiten, als ein echtes Terminal braucht. Nur für Simulatoren.",
};
