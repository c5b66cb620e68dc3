/** The page's own sentences about what the doctor finds, by its codes. */
export default {
  "finding.doctor-no-report": "Die Untersuchung hat keinen Bericht ergeben.",
  "finding.doctor-no-report.todo":
    "Noch einmal untersuchen; bleibt es so, auf der Maschine ./launch.sh doctor ausführen.",
  "finding.node-right": "{version}",
  "finding.node-old": "{version} ist zu alt.",
  "finding.node-old.todo":
    "Auf der Maschine node_modules löschen und ./launch.sh ausführen: Es installiert das richtige.",
  "finding.data-folder-right": "{folder}",
  "finding.data-folder-closed": "Der Datenordner ist nicht benutzbar.",
  "finding.data-folder-closed.todo":
    "Ihn anlegen, oder ihn dem Benutzer des Connectors geben (chown -R).",
  "finding.disk-right": "{free} MB frei",
  "finding.disk-low": "Nur {free} MB frei",
  "finding.disk-low.todo":
    "Platz schaffen: Ohne ihn kann keine Zahlung geschrieben werden, und es wird keine angenommen.",
  "finding.disk-full": "Nur {free} MB frei: fast voll",
  "finding.disk-full.todo":
    "Platz schaffen: Ohne ihn kann keine Zahlung geschrieben werden, und es wird keine angenommen.",
  "finding.disk-no-files": "{free} MB frei, aber kein Platz für weitere Dateien",
  "finding.disk-no-files.todo":
    "Platz schaffen: Ohne ihn kann keine Zahlung geschrieben werden, und es wird keine angenommen.",
  "finding.access-right": "Nur dieser Benutzer, das System und die Administratoren",
  "finding.access-open": "Jeder darf den Datenordner benutzen ({names}).",
  "finding.access-open.todo":
    'Als Administrator auf der Maschine: icacls "{folder}" /reset, dann {close}',
  "finding.access-inherited":
    "Die Rechte des übergeordneten Ordners gelten auch für den Datenordner.",
  "finding.access-inherited.todo": "Auf der Maschine: {close}",
  "finding.access-not-ours": "Der Benutzer des Connectors steht nicht in den Rechten.",
  "finding.access-not-ours.todo": "Auf der Maschine: {close}",
  "finding.access-others": "Auch andere dürfen hinein: {names}",
  "finding.access-others.todo":
    'Als Administrator auf der Maschine: icacls "{folder}" /reset, dann {close}',
  "finding.access-unknown": "Wer den Datenordner benutzen darf, ist nicht bekannt.",
  "finding.access-unknown.todo":
    "Selbst nachsehen: in den Eigenschaften des Ordners, unter Sicherheit.",
  "finding.setup-right": "{file} ist vollständig.",
  "finding.setup-faulty": "In {file} ist ein Fehler.",
  "finding.setup-faulty.todo": "Die genannte Zeile richtigstellen, dann {command}",
  "finding.setup-unreadable": "Die Einstellungsdatei kann nicht gelesen werden.",
  "finding.setup-unreadable.todo":
    "Die Datei muss da sein, als Text in UTF-8, und dem Benutzer der Programme gehören; data/config.example.txt ist ein Muster.",
  "finding.setup-doubtful": "Etwas in {file} ist fraglich.",
  "finding.setup-doubtful.todo":
    "„{settings}“ unten zeigt, was gesetzt ist; geändert wird es in der Datei.",
  "finding.serial-network": "{port} ist im Netz.",
  "finding.serial-right": "{port}",
  "finding.serial-numbered": "{port}",
  "finding.serial-numbered.todo": "SERIAL_PORT={address} würde ihn unter jeder Nummer finden.",
  "finding.serial-several": "{address} passt auf mehrere: {ports}",
  "finding.serial-several.todo":
    "In der Einstellungsdatei SERIAL_PORT um die Seriennummer ergänzen, oder einen unter /dev/serial/by-id nennen.",
  "finding.serial-missing": "{address} ist nicht da.",
  "finding.serial-missing.todo":
    "Das Kabel prüfen; oder SERIAL_PORT in der Einstellungsdatei auf einen von diesen setzen: {ports}",
  "finding.serial-none":
    "{address} ist nicht da: Diese Maschine hat gar keine serielle Schnittstelle.",
  "finding.serial-none.todo": "Das Terminal anschließen und einschalten.",
  "finding.serial-no-port": "{port} ist keine serielle Schnittstelle.",
  "finding.serial-no-port.todo": "SERIAL_PORT in der Einstellungsdatei auf eine setzen: {ports}",
  "finding.serial-not-allowed": "{user} darf {port} nicht öffnen.",
  "finding.serial-not-allowed.todo":
    "Auf der Maschine: sudo usermod -aG {group} {user}, dann ab- und wieder anmelden oder neu starten.",
  "finding.serial-log-in-again": "{user} darf {port} nicht öffnen.",
  "finding.serial-log-in-again.todo":
    "{user} ist in der Gruppe {group}, war aber vorher angemeldet: auf der Maschine ab- und wieder anmelden, oder sie neu starten.",
  "finding.serial-of-root": "{user} darf {port} nicht öffnen.",
  "finding.serial-of-root.todo":
    "Es gehört root allein. Auf der Maschine: sudo chgrp dialout {port}; sudo chmod 660 {port}",
  "finding.serial-in-use": "{port} wird von Prozess {pid} ({program}) benutzt.",
  "finding.serial-in-use.todo":
    "Dieses Programm beenden: Nur eines kann mit dem Terminal sprechen.",
  "finding.port-ours": "{port} gehört dem Connector.",
  "finding.port-free": "{port} ist frei.",
  "finding.port-in-use": "{port} ist belegt, wohl vom Connector selbst.",
  "finding.port-in-use.todo": "Siehe die Zeile von tp-manager.",
  "finding.port-taken": "Ein anderes Programm lauscht auf {port}.",
  "finding.port-taken.todo":
    "Dieses Programm beenden, oder in der Einstellungsdatei einen anderen LOCAL_PORT wählen und ihn der Kiosk-Software sagen.",
  "finding.port-unusable": "{port} ist nicht benutzbar.",
  "finding.port-unusable.todo":
    "In der Einstellungsdatei einen LOCAL_PORT von 1024 bis 65535 wählen.",
  "finding.port-changed":
    "Der Connector lauscht noch auf {before}; die Einstellungsdatei sagt {port}.",
  "finding.port-changed.todo": "Auf der Maschine: {command}",
  "finding.page-served": "{setting}: http://localhost:{port}/",
  "finding.page-free": "{setting} {port} ist frei.",
  "finding.page-in-use": "{setting} {port} ist belegt, wohl vom Connector selbst.",
  "finding.page-in-use.todo": "Siehe die Zeile von tp-manager.",
  "finding.page-taken":
    "Ein anderes Programm lauscht auf {setting} {port}: Die Seite fehlt, Zahlungen gehen weiter.",
  "finding.page-taken.todo":
    "Dieses Programm beenden, oder in der Einstellungsdatei einen anderen {setting} wählen. Dann auf der Maschine: {command}",
  "finding.page-missing": "Die Seite auf {setting} {port} ist nicht da.",
  "finding.page-missing.todo":
    "{setting} in der Einstellungsdatei richtigstellen. Dann auf der Maschine: {command}",
  "finding.page-changed":
    "Der Connector bedient {setting} {port} der Einstellungsdatei noch nicht.",
  "finding.page-changed.todo": "Auf der Maschine: {command}",
  "finding.program-runs": "Läuft als Prozess {pid}, Version {version}, seit {up}.",
  "finding.program-silent": "Prozess {pid} antwortet nicht.",
  "finding.program-silent.todo": "Auf der Maschine: {command}",
  "finding.program-stopped-on-purpose": "Mit Absicht angehalten seit {since}.",
  "finding.program-stopped-on-purpose.todo": "Auf der Maschine: {command}",
  "finding.program-stopped": "Läuft nicht.",
  "finding.program-stopped.todo": "Auf der Maschine: {command}; geht es nicht, sagt es den Grund.",
  "finding.terminal-ready": "Zahlungen werden angenommen.",
  "finding.terminal-doubtful": "Zahlungen werden angenommen, doch das Terminal meldet etwas.",
  "finding.terminal-doubtful.todo": "Nach dem Terminal sehen; „{check}“ oben befragt es.",
  "finding.terminal-in-doubt": "Zahlungen werden angenommen; im Zweifel sind {count}.",
  "finding.terminal-in-doubt.todo":
    "Ins Journal des Terminals sehen, dann unter „{doubt}“ sagen, was war.",
  "finding.terminal-other-register":
    "Das Terminal gibt eine andere Kassennummer zurück, als es bekommt.",
  "finding.terminal-other-register.todo":
    "In der Einstellungsdatei die Kassennummer des Terminals eintragen.",
  "finding.assumption-on": "Gilt für dieses Terminal als gegeben ({name}).",
  "finding.assumption-off": "Gilt hier nicht als gegeben ({name}). Ausgeschaltet durch:",
  "finding.fact-shown": "Das Terminal hat es gezeigt ({name}).",
  "finding.fact-not-shown": "Das Terminal hat es noch nicht gezeigt ({name}).",
  "finding.fact-not-always": "Das Terminal hat das Gegenteil gezeigt ({name}).",
  "finding.terminal-not-asked": "Nicht gefragt: Der Connector antwortet nicht.",
  "finding.terminal-not-asked.todo": "Auf der Maschine: {command}",
  "finding.queue-right": "{pending} warten, {parked} abgelehnt, {sent} gesendet",
  "finding.queue-waiting":
    "{pending} warten, die älteste seit {oldest}; {parked} abgelehnt, {sent} gesendet",
  "finding.journal-right": "Zahlungen, die den Regeln folgen: {count}",
  "finding.journal-faulty": "Einträge, die eine Regel über Geld verletzen: {count}",
  "finding.journal-faulty.todo":
    "Auf der Maschine nennt {command} sie; das und ein Paket an den Support schicken.",
  "finding.journal-not-audited": "Das Journal wurde nicht geprüft.",
  "finding.journal-not-audited.todo": "Auf der Maschine: {command}",
  "finding.gateway-right": "{url} antwortet und nimmt die Anmeldung an.",
  "finding.gateway-silent": "{url} hat in {seconds} s nicht geantwortet.",
  "finding.gateway-silent.todo":
    "Netz, Proxy und Firewall prüfen. Zahlungen gehen weiter; was belastet wird, wartet hier.",
  "finding.gateway-login-refused": "{url} lehnt Login oder Passwort ab (Status {http}).",
  "finding.gateway-login-refused.todo":
    "GATEWAY_LOGIN und GATEWAY_PWD in der Einstellungsdatei richtigstellen, dann {command}",
  "finding.gateway-unclear":
    "{url} antwortet mit Status {http}; ob die Anmeldung gilt, sagt es nicht.",
  "finding.gateway-unclear.todo":
    "GATEWAY_URL in der Einstellungsdatei prüfen; die erste Zahlung wird es zeigen.",
  "finding.gateway-not-trusted": "Dem Zertifikat von {url} wird nicht vertraut.",
  "finding.gateway-not-trusted.todo":
    "GATEWAY_URL, die Uhr der Maschine und einen Proxy prüfen, der TLS öffnet.",
  "finding.gateway-no-name": "{url} ist nicht erreichbar.",
  "finding.gateway-no-name.todo":
    "GATEWAY_URL in der Einstellungsdatei und den Nameserver der Maschine prüfen.",
  "finding.gateway-out-of-reach": "{url} ist nicht erreichbar.",
  "finding.gateway-out-of-reach.todo":
    "GATEWAY_URL in der Einstellungsdatei, Netz und Firewall prüfen.",
  "finding.clock-right": "{at}, Zeitzone {zone}, wie die des Gateways",
  "finding.clock-alone": "{at}, Zeitzone {zone}; nicht mit der des Gateways verglichen",
  "finding.clock-past": "{at}, Zeitzone {zone}: Das ist vergangen.",
  "finding.clock-past.todo":
    "Die Maschine ihre Uhr aus dem Netz stellen lassen (timedatectl set-ntp true).",
  "finding.clock-away": "{at}, Zeitzone {zone}: weicht um {seconds} s von der des Gateways ab",
  "finding.clock-away.todo":
    "Die Maschine ihre Uhr aus dem Netz stellen lassen (timedatectl set-ntp true).",
  "finding.schedule-right": "{entry}",
  "finding.schedule-missing": "Nichts startet neu, was abstürzt oder hängt.",
  "finding.schedule-missing.todo": "Auf der Maschine: {install}",
  "finding.schedule-twice": "{unit} und die Überwachung sehen beide nach dem Connector.",
  "finding.schedule-twice.todo": "Nur eines behalten; auf der Maschine: {command}",
  "finding.schedule-no-cron": "{entry}, aber cron selbst läuft nicht.",
  "finding.schedule-no-cron.todo": "Auf der Maschine: sudo systemctl enable --now cron",
  "finding.schedule-unknown": "Ob die Maschine neu startet, was abstürzt, ist nicht bekannt.",
  "finding.schedule-unknown.todo":
    "Auf der Maschine nachsehen: ./launch.sh doctor nennt die Antwort ihres Zeitplaners.",
  "finding.browser-none": "Keine Webseite darf den Connector rufen (ALLOWED_ORIGINS ist leer).",
  "finding.browser-right": "Seiten von {origins} dürfen den Connector rufen; {policy} ist gesetzt.",
  "finding.browser-asks": "Seiten von {origins} dürfen den Connector rufen.",
  "finding.browser-asks.todo":
    "Die Richtlinie {policy} des Browsers auf sie setzen, sonst fragen Chrome und Edge am Bildschirm.",
  "finding.updates-not-asked": "Niemand wird nach Versionen gefragt: UPDATE_URL ist nicht gesetzt.",
  "finding.updates-right": "{url} antwortet.",
  "finding.updates-old": "Was {url} anbietet, ist abgelaufen: {at}",
  "finding.updates-old.todo":
    "Netz, Uhr, UPDATE_URL und UPDATE_CA_FILE prüfen; dem Herausgeber Bescheid geben.",
  "finding.updates-silent": "Der Server der Updates antwortet nicht, wie er soll.",
  "finding.updates-silent.todo":
    "Netz, Uhr, UPDATE_URL und UPDATE_CA_FILE prüfen; dem Herausgeber Bescheid geben.",
  "finding.updates-none": "{url} bietet keine Updates an.",
  "finding.updates-none.todo":
    "Netz, Uhr, UPDATE_URL und UPDATE_CA_FILE prüfen; dem Herausgeber Bescheid geben.",
  "finding.updates-stored-old": "Was vom Herausgeber gespeichert ist, ist abgelaufen: {at}",
  "finding.updates-stored-old.todo": "„{update}“ oben holt es neu, oder sagt, warum nicht.",
  "finding.updates-no-room": "Für eine neue Version ist kein Platz.",
  "finding.updates-no-room.todo":
    "Platz auf der Platte schaffen, sonst wird keine neue Version genommen.",
  "finding.updates-held": "Angehalten von {who} seit {since}, bis {until}",
  "finding.updates-held.todo": "„{unhold}“ oben beendet es.",
  "finding.updates-held-open": "Angehalten von {who} seit {since}, bis jemand sie wieder zulässt",
  "finding.updates-held-open.todo": "„{unhold}“ oben beendet es.",
  "doctor.of.certificates": "Zertifikate",
  "doctor.of.assumptions": "Annahmen",
  "doctor.of.pages": "Seiten",
  "doctor.of.doctor": "Diagnose",
  "doctor.of.node": "Node.js",
  "doctor.of.tp-manager": "tp-manager",
};
