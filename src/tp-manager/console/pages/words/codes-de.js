/** The console's own sentences about what the connector tells as codes. */
export default {
  "error.TERMINAL_DISCONNECTED": "Keine Verbindung zum Terminal.",
  "error.TERMINAL_OUT_OF_ORDER": "Das Terminal nimmt gerade keine Karten an.",
  "error.TERMINAL_IN_DOUBT":
    "Eine Zahlung oder ein Verkauf ist ungeklärt; das Terminal wird befragt.",
  "error.TERMINAL_CHANGED": "Ein anderes Terminal ist angeschlossen als das angenommene.",
  "error.STORAGE_FAILED": "Das Journal kann nicht gelesen oder geschrieben werden.",
  "error.STORES_DISAGREE": "Bestellungen, die der Supervisor kennt, werden gerade übernommen.",
  "error.STOPPING": "Der Connector wird angehalten.",
  "error.UPDATING": "Eine neue Version ist auf Probe.",
  "error.TERMINAL_BUSY":
    "Eine Zahlung läuft, oder das Terminal ist beschäftigt. Später noch einmal.",
  "error.TERMINAL_NO_ANSWER": "Das Terminal antwortet nicht; vielleicht startet es neu.",
  "error.TERMINAL_REFUSED": "Das Terminal hat es abgelehnt.",
  "error.TERMINAL_FAULT": "Das Terminal hatte eine eigene Störung; es wurde nichts belastet.",
  "error.TERMINAL_SALE_UNMATCHED": "Das Terminal hat einen Verkauf, den hier keine Bestellung hat.",
  "error.REQUEST_INVALID": "Eine Eingabe ist nicht richtig.",
  "error.CARD_DATA_REFUSED": "Das sieht nach einer Kartennummer aus. Nie Kartennummern eingeben.",
  "error.UNAUTHORIZED": "Die Sitzung ist beendet. Bitte neu anmelden.",
  "error.OPERATOR_REQUIRED": "Das geht nur mit der Anmeldung des Betreibers.",
  "error.ORDER_NOT_FOUND": "Eine solche Bestellung ist nicht bekannt.",
  "error.GATEWAY_TRANSACTION_NOT_FOUND": "Das Gateway kennt keine solche Transaktion.",
  "error.OUTBOX_ITEM_NOT_FOUND": "Sie wartet nicht mehr auf das Gateway.",
  "error.OUTBOX_ITEM_SETTLED": "Sie wurde schon gesendet oder geschlossen.",
  "error.OUTBOX_ITEM_BUSY": "Sie wird gerade gesendet. In einer Minute noch einmal.",
  "error.NOTHING_TO_CANCEL": "Es läuft keine Zahlung.",
  "error.CANCEL_REFUSED": "Das Terminal hat den Abbruch nicht angenommen.",
  "error.ORDER_REVERSED": "Das Geld dieser Bestellung ist zurückgegangen; sie ist beendet.",
  "error.ORDER_NOT_CHARGED": "Diese Bestellung wurde nicht belastet: Es gibt nichts zurückzugeben.",
  "error.NOTHING_TO_SETTLE": "Diese Bestellung ist nicht mehr ungeklärt.",
  "error.DELIVERY_DECIDED": "Über die Ware wurde schon anders entschieden.",
  "error.REVERSAL_REFUSED": "Das Terminal hat nicht storniert. Über das Gateway erstatten.",
  "error.REVERSAL_NOT_SAFE":
    "Die Belegnummer kann inzwischen einen anderen Verkauf meinen: Es wurde nichts gesendet. Über das Gateway erstatten.",
  "error.OPEN_PRE_AUTHORISATIONS": "Vorautorisierungen sind offen: erst buchen oder stornieren.",
  "error.GATEWAY_ID_UNKNOWN": "Welche Transaktion des Gateways es ist, ist noch nicht bekannt.",
  "error.GATEWAY_OPERATION_OPEN": "Ein früherer Vorgang beim Gateway ist offen: siehe „{doubt}“.",
  "error.REFUND_REPEATED":
    "Dieser Teilbetrag wurde in den letzten 24 Stunden schon erstattet, oder vielleicht erstattet.",
  "error.IDEMPOTENCY_KEY_REUSED":
    "Dieser Schlüssel wurde schon für etwas anderes verwendet: Diesmal ist nichts geschehen.",
  "error.GATEWAY_REFUSED": "Das Gateway hat es nicht ausgeführt.",
  "error.GATEWAY_NOT_SENT": "Das Gateway wurde nicht erreicht; es ist nichts geschehen.",
  "error.GATEWAY_OPERATION_UNKNOWN":
    "Die Antwort des Gateways ging verloren: Niemand weiß, ob es geschehen ist. Siehe „{doubt}“.",
  "error.GATEWAY_LOOKUP_FAILED": "Das Gateway konnte nicht gefragt werden.",
  "error.SUPERVISOR_UNAVAILABLE": "Der Supervisor antwortet nicht.",
  "error.NOT_SUPPORTED": "Diese Version oder dieses Terminal kann das nicht.",
  "error.TELECOLLECTION_FAILED":
    "Der Kassenschnitt ist gescheitert, oder sein Ende ist nicht bekannt.",
  "error.RESET_FAILED": "Das Terminal ist noch nicht zurück. Bitte nachsehen.",
  "error.PAYMENT_RUNNING": "Die Zahlung läuft.",
  "error.PAYMENT_UNKNOWN": "Was aus der Zahlung wurde, ist noch nicht bekannt.",
  "error.PAYMENT_DECLINED": "Die Karte wurde abgelehnt.",
  "error.PAYMENT_CANCELLED": "Die Zahlung wurde abgebrochen.",
  "error.CUSTOMER_TIMEOUT": "Der Kunde hat zu lange gebraucht.",
  "error.GOODS_NOT_DELIVERED": "Es kam keine Ware heraus: nichts wurde belastet.",
  "error.SETTLED_NOT_CHARGED": "Jemand hat festgestellt: Es wurde nichts belastet.",
  "error.INTERNAL": "Ein Fehler des Connectors. Unter „{care}“ ein Paket für den Support laden.",
  "error.other": "Der Connector hat es abgelehnt.",
  "todo.TERMINAL_DISCONNECTED":
    "Strom und Kabel prüfen; der Connector versucht es von selbst weiter.",
  "todo.TERMINAL_NO_ANSWER":
    "Nachsehen, ob es etwas anzeigt, und die Leitung prüfen; „{check}“ unter „{care}“ fragt es erneut.",
  "todo.TERMINAL_OUT_OF_ORDER":
    "Nach dem Terminal sehen; „{check}“ unter „{care}“ sagt, was ihm fehlt.",
  "todo.TERMINAL_BUSY": "Das endet von selbst; dauert es, ist jemand im Menü des Terminals.",
  "todo.TERMINAL_IN_DOUBT": "Einige Minuten warten, dann unter „{doubt}“ nachsehen.",
  "todo.TERMINAL_CHANGED":
    "Wenn es mit Absicht getauscht wurde: „{accept}“ unter „{care}“ oder „{doubt}“.",
  "todo.STORAGE_FAILED":
    "Platte des Ordners data prüfen: Platz, Rechte, Zustand. Dann geht es von selbst weiter. " +
    "Fehlt die Datei des Journals: ./launch.sh stop, restore journal, start.",
  "todo.STORES_DISAGREE": "Das endet von selbst, sobald der Supervisor antwortet.",
  "todo.STOPPING": "./launch.sh start bringt ihn zurück.",
  "todo.UPDATING": "Das endet von selbst in wenigen Minuten.",
  "note.journal-doubted":
    "Dem Journal fehlen vielleicht Bestellungen: Jede neue wird erst nachgeschlagen, bis zum nächsten Kassenschnitt. ./launch.sh stores accept beendet das vorher.",
  "note.sales-unmatched": "Verkäufe des Terminals, die hier keine Bestellung haben: {count}",
  "note.disk-full": "Die Platte des Ordners data ist fast voll.",
  "note.in-doubt": "Ungeklärte Zahlungen: {count}. Siehe „{doubt}“.",
  "trouble.supervisor-silent": "Der Supervisor antwortet nicht.",
  "trouble.supervisor-silent.todo":
    "./launch.sh start; läuft er und schweigt, ./launch.sh restart.",
  "trouble.hand-over-failing":
    "Der Supervisor nimmt keine Transaktionen an; sie warten im Journal.",
  "trouble.hand-over-failing.todo":
    "./launch.sh status; die Protokolle des Supervisors unter „{care}“ sagen, warum.",
  "trouble.hand-over-refused": "Der Supervisor lehnt einzelne Transaktionen ab.",
  "trouble.hand-over-refused.todo": "Unter „{doubt}“ neu senden oder schließen.",
  "trouble.reversed-at-terminal-only":
    "Nur am Terminal storniert; das Gateway hat die Bestellung noch.",
  "trouble.reversed-at-terminal-only.todo":
    "Im Händlerkonto des Gateways stornieren oder erstatten, dann als gesehen markieren.",
  "trouble.sales-without-order": "Nicht zugeordnete Transaktionen warten auf jemanden: {count}",
  "trouble.sales-without-order.todo":
    "Ins Journal des Terminals sehen; unter „{doubt}“ als gesehen markieren.",
  "trouble.differences": "Abweichungen vom Journal warten auf jemanden: {count}",
  "trouble.differences.todo":
    "Bestellungen vergleichen; die Abweichung unter „{doubt}“ als gesehen markieren.",
  "trouble.amounts-refused":
    "Zahlungen mancher Beträge werden abgelehnt, weil eine Bestellung desselben Betrags ungeklärt ist.",
  "trouble.amounts-refused.todo":
    "Ins Journal des Terminals sehen, dann unter „{doubt}“ sagen, was war.",
  "trouble.charges-unread": "Belastet, und der Kiosk erfuhr anderes oder nichts.",
  "trouble.charges-unread.todo": "Dem Kunden helfen, dann als gesehen markieren.",
  "trouble.credentials-refused":
    "Das Gateway lehnt Login oder Passwort ab: Es wird nichts gesendet.",
  "trouble.credentials-refused.todo":
    "GATEWAY_LOGIN und GATEWAY_PWD in der Einstellungsdatei richtigstellen, dann ./launch.sh restart.",
  "trouble.certificates-end":
    "Ein Zertifikat läuft in weniger als 30 Tagen ab oder ist abgelaufen.",
  "trouble.certificates-end.todo": "Die genannte Datei ersetzen, dann ./launch.sh restart.",
  "trouble.gateway-misconfigured":
    "Dem Zertifikat des Gateways wird nicht vertraut, oder es verweigert den Zugang.",
  "trouble.gateway-misconfigured.todo": "GATEWAY_URL, GATEWAY_CA_FILE, Uhr und Proxy prüfen.",
  "trouble.lookup-refused":
    "Das Gateway lehnt das Nachschlagen ab, während eine verlorene Antwort offen ist.",
  "trouble.lookup-refused.todo":
    "GATEWAY_API_KEY setzen oder das Nachschlagen für den Login erlauben lassen.",
  "trouble.queue-unwritable": "Der Supervisor kann seine Datenbank nicht schreiben.",
  "trouble.queue-unwritable.todo":
    "Platte des Ordners data prüfen: Platz, Rechte, Zustand. Inzwischen geht nichts verloren. " +
    "Fehlt die Datei der Datenbank: ./launch.sh stop, restore supervisor, start.",
  "trouble.queue-old": "Transaktionen warten seit mehr als 10 Minuten auf das Gateway: {count}",
  "trouble.queue-old.todo": "„{doctor}“ unter „{care}“ fragt das Gateway.",
  "trouble.transactions-parked": "Transaktionen liegen beiseite: {count}",
  "trouble.transactions-parked.todo": "Unter „{doubt}“ neu senden oder schließen.",
  "trouble.order-copies": "Das Gateway hat Bestellungen vielleicht mehrfach: {count}",
  "trouble.order-copies.todo": "Im Händlerkonto nachsehen, dann unter „{doubt}“ sagen, was ist.",
  "trouble.operations-unknown": "Vorgänge beim Gateway mit verlorener Antwort: {count}",
  "trouble.operations-unknown.todo": "„{look}“ unter „{doubt}“ kann es klären.",
  "trouble.notifications-refused": "Benachrichtigungen des Gateways werden abgelehnt.",
  "trouble.notifications-refused.todo":
    "GATEWAY_PWD und NOTIFICATION_DIGEST_SECRETS mit dem Händlerkonto vergleichen.",
  "trouble.update-failed": "Eine neue Version scheiterte hier; die davor läuft.",
  "trouble.update-failed.todo":
    "Ein Paket für den Support („{care}“) an den Support senden; diese Version wird nicht mehr versucht.",
  "trouble.updates-stuck": "Seit drei Nächten ließ sich kein Update suchen oder nehmen.",
  "trouble.updates-stuck.todo":
    "„{update}“ unter „{care}“ sagt, warum; UPDATE_URL, Netz, Uhr und Platte prüfen.",
  "alarm.payment-unknown": "Eine Zahlung ist ungeklärt: siehe „{doubt}“.",
  "alarm.charged-late":
    "Das Terminal meldete einen Verkauf spät: Die Bestellung wurde doch belastet.",
  "alarm.order-charged-twice":
    "Eine Bestellung ist vielleicht zweimal belastet: ins Journal des Terminals sehen und eine Belastung zurückgeben.",
  "alarm.second-sale-in-payment":
    "Das Terminal meldete einen zweiten Verkauf in einer Zahlung: in sein Journal sehen.",
  "alarm.approved-after-cancel": "Das Terminal genehmigte eine abgebrochene Zahlung.",
  "alarm.charged-without-delivery": "Belastet, und niemand sagte, dass Ware herauskam.",
  "alarm.charged-beyond-goods": "Das Terminal belastete mehr, als Ware herauskam.",
  "alarm.charge-unread": "Eine Bestellung ist belastet, und der Kiosk weiß es nicht.",
  "alarm.unmatched-transaction":
    "Das Terminal hat eine Transaktion, die sich keiner Bestellung sicher zuordnen lässt: Es wird gefragt.",
  "alarm.unmatched-transaction.held":
    "Das Terminal hält eine Transaktion, die sich keiner Bestellung sicher zuordnen lässt.",
  "alarm.unmatched-transaction.unclear":
    "Niemand kann sagen, ob das Terminal eine nicht zugeordnete Transaktion hält.",
  "alarm.sale-without-order": "Das Terminal hat einen Verkauf ohne Bestellung.",
  "alarm.sale-without-order-unclear":
    "Ob das Terminal einen Verkauf ohne Bestellung hat, ist nicht klar.",
  "alarm.unexpected-report": "Das Terminal meldete ein Ergebnis, das keine Bestellung verlangte.",
  "alarm.report-mismatch": "Das Terminal meldete etwas anderes als verlangt.",
  "alarm.report-differs": "Zwei Meldungen des Terminals zu einem Verkauf weichen ab.",
  "alarm.reversal-mismatch": "Die Antwort des Terminals auf ein Storno nennt etwas anderes.",
  "alarm.reversed-elsewhere": "Ein Verkauf wurde anderswo storniert.",
  "alarm.reversed-after-sending":
    "Ein Verkauf wurde storniert, und das Gateway hat seine Bestellung.",
  "alarm.open-pre-authorisations": "Am Terminal sind Vorautorisierungen offen.",
  "alarm.end-of-day-failed": "Der Kassenschnitt ist gescheitert: unter „{care}“ neu starten.",
  "alarm.daily-chore": "Eine tägliche Aufgabe ist gescheitert.",
  "alarm.terminal-difference": "Die Summen des Terminals weichen vom Journal ab.",
  "alarm.gateway-difference": "Was das Gateway hat, weicht vom Journal ab.",
  "alarm.receipt-number-missing": "Zwischen zwei Verkäufen fehlen Belegnummern.",
  "alarm.hand-off-refused": "Der Supervisor lehnt eine Transaktion ab: siehe „{doubt}“.",
  "alarm.transaction-parked": "Eine Transaktion liegt beiseite: siehe „{doubt}“.",
  "alarm.gateway-operation-failed":
    "Ein Vorgang beim Gateway ist gescheitert: im Händlerkonto erledigen.",
  "alarm.gateway-answer-mismatch":
    "Das Gateway hat zu etwas anderem geantwortet; die Bestellung wird nachgeschlagen.",
  "alarm.gateway-order-twice":
    "Das Gateway hat eine Bestellung zweimal: eine davon im Händlerkonto stornieren oder erstatten.",
  "alarm.transaction-changed": "Ein Verkauf kam zweimal mit verschiedenem Inhalt zum Supervisor.",
  "alarm.notification-mismatch":
    "Eine Benachrichtigung des Gateways passt nicht zu unserer Bestellung.",
  "alarm.notification-unreadable": "Eine Benachrichtigung des Gateways war nicht lesbar.",
  "alarm.chargeback-or-fraud": "Die Bank hat Geld zurückgeholt oder Betrug gemeldet.",
  "alarm.fleet-twin": "Ein anderer Kiosk verwendet die FLEET_ID von diesem.",
  "alarm.update-hold-ended":
    "Die Flotte hielt ein Update zu lange an; es ist nicht mehr angehalten.",
  "alarm.card-number-masked": "Eine volle Kartennummer kam an und wurde hier verdeckt.",
  "alarm.journal-lost": "Das Journal ging verloren oder wurde zurückgespielt.",
  "alarm.outbox-lost": "Die Datenbank des Supervisors ging verloren oder wurde zurückgespielt.",
  "alarm.gateway-order-ambiguous":
    "Das Gateway hat eine Bestellung vielleicht mehrfach: siehe „{doubt}“.",
  "alarm.gateway-operation-unknown":
    "Die Antwort auf einen Vorgang beim Gateway ging verloren: siehe „{doubt}“.",
  "updates.done": "{what}: erledigt.",
  "updates.notDone": "{what}: Es hat nicht geklappt.",
  "care.reset.done": "Das Terminal ist neu gestartet.",
  "care.accept.done": "Das Terminal ist angenommen.",
  "acts.other": "Anderes",
  "doctor.of.terminal": "Terminal",
  "doctor.of.payments": "Zahlungen",
  "doctor.of.gateway": "Gateway",
  "doctor.of.queue": "Warteschlange zum Gateway",
  "doctor.of.disk": "Platte",
  "doctor.of.clock": "Uhr",
  "doctor.of.updates": "Updates",
  "doctor.of.notifications": "Benachrichtigungen des Gateways",
  "doctor.of.supervisor": "Supervisor",
  "doctor.of.config": "Einstellungsdatei",
  "doctor.of.access": "Zugang zu den Dateien",
  "doctor.of.browser": "Browser",
  "doctor.of.data folder": "Ordner data",
  "doctor.of.journal": "Journal",
  "doctor.of.local port": "Port der lokalen Schnittstelle",
  "doctor.of.schedule": "Neustart durch den Rechner",
  "doctor.of.serial port": "Serielle Schnittstelle",
  "doctor.of.hand-over": "Übergabe",
  "alarm.journal": "Etwas ließ sich nicht ins Journal schreiben.",
  "alarm.hand-off": "Eine Transaktion ließ sich nicht an den Supervisor übergeben.",
  "alarm.update-metadata": "Die Metadaten der Updates laufen ab oder sind abgelaufen.",
  zone: "Alle Zeiten und Tage: {zone}",
  "seen.mark": "Gesehen",
  "seen.all": "Alle gesehen",
  "seen.title": "Als gesehen markieren",
  "seen.sentence":
    "Es wartet auf niemanden mehr, und der Alarm ist beendet. Was über das Geld bekannt ist, bleibt, wie es ist.",
  "seen.done": "Als gesehen markiert.",
  "seen.order": "Gesehen: {orderId}",
  done: "erledigt",
};
