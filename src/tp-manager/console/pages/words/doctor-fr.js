/** The page's own sentences about what the doctor finds, by its codes. */
export default {
  "finding.doctor-no-report": "L’examen n’a donné aucun rapport.",
  "finding.doctor-no-report.todo":
    "Examinez de nouveau ; si cela persiste, lancez ./launch.sh doctor sur la machine.",
  "finding.node-right": "{version}",
  "finding.node-old": "{version} est trop ancien.",
  "finding.node-old.todo":
    "Supprimez node_modules sur la machine et lancez ./launch.sh : il installe le bon.",
  "finding.data-folder-right": "{folder}",
  "finding.data-folder-closed": "Le dossier des données est inutilisable.",
  "finding.data-folder-closed.todo":
    "Créez-le, ou donnez-le à l’utilisateur du connecteur (chown -R).",
  "finding.disk-right": "{free} Mo libres",
  "finding.disk-low": "Seulement {free} Mo libres",
  "finding.disk-low.todo":
    "Faites de la place : sans elle, aucun paiement ne peut être écrit ni accepté.",
  "finding.disk-full": "Seulement {free} Mo libres : presque plein",
  "finding.disk-full.todo":
    "Faites de la place : sans elle, aucun paiement ne peut être écrit ni accepté.",
  "finding.disk-no-files": "{free} Mo libres, mais plus de place pour d’autres fichiers",
  "finding.disk-no-files.todo":
    "Faites de la place : sans elle, aucun paiement ne peut être écrit ni accepté.",
  "finding.access-right": "Seulement cet utilisateur, le système et les administrateurs",
  "finding.access-open": "Tout le monde peut utiliser le dossier des données ({names}).",
  "finding.access-open.todo":
    'En administrateur sur la machine : icacls "{folder}" /reset, puis {close}',
  "finding.access-inherited":
    "Les droits du dossier parent valent aussi pour le dossier des données.",
  "finding.access-inherited.todo": "Sur la machine : {close}",
  "finding.access-not-ours": "L’utilisateur du connecteur n’est pas nommé dans les droits.",
  "finding.access-not-ours.todo": "Sur la machine : {close}",
  "finding.access-others": "D’autres y ont accès aussi : {names}",
  "finding.access-others.todo":
    'En administrateur sur la machine : icacls "{folder}" /reset, puis {close}',
  "finding.access-unknown": "On ne sait pas qui peut utiliser le dossier des données.",
  "finding.access-unknown.todo":
    "Regardez vous-même : dans les propriétés du dossier, sous Sécurité.",
  "finding.setup-right": "{file} est complet.",
  "finding.setup-faulty": "Il y a une erreur dans {file}.",
  "finding.setup-faulty.todo": "Corrigez la ligne indiquée, puis {command}",
  "finding.setup-unreadable": "Le fichier de configuration ne peut être lu.",
  "finding.setup-unreadable.todo":
    "Il doit exister, en texte UTF-8, et appartenir à l’utilisateur des programmes ; data/config.example.txt sert de modèle.",
  "finding.setup-doubtful": "Quelque chose dans {file} est douteux.",
  "finding.setup-doubtful.todo":
    "« {settings} » ci-dessous montre ce qui est réglé ; on le change dans le fichier.",
  "finding.serial-network": "{port} est sur le réseau.",
  "finding.serial-right": "{port}",
  "finding.serial-numbered": "{port}",
  "finding.serial-numbered.todo": "SERIAL_PORT={address} le trouverait sous tout numéro.",
  "finding.serial-several": "{address} en désigne plusieurs : {ports}",
  "finding.serial-several.todo":
    "Ajoutez le numéro de série à SERIAL_PORT dans le fichier de configuration, ou nommez-en un sous /dev/serial/by-id.",
  "finding.serial-missing": "{address} n’est pas là.",
  "finding.serial-missing.todo":
    "Vérifiez le câble ; ou donnez à SERIAL_PORT, dans le fichier de configuration, l’une de ces valeurs : {ports}",
  "finding.serial-none": "{address} n’est pas là : cette machine n’a aucun port série.",
  "finding.serial-none.todo": "Branchez le terminal et allumez-le.",
  "finding.serial-no-port": "{port} n’est pas un port série.",
  "finding.serial-no-port.todo":
    "Donnez à SERIAL_PORT, dans le fichier de configuration, un vrai port : {ports}",
  "finding.serial-not-allowed": "{user} n’a pas le droit d’ouvrir {port}.",
  "finding.serial-not-allowed.todo":
    "Sur la machine : sudo usermod -aG {group} {user}, puis déconnectez-vous et reconnectez-vous, ou redémarrez.",
  "finding.serial-log-in-again": "{user} n’a pas le droit d’ouvrir {port}.",
  "finding.serial-log-in-again.todo":
    "{user} est dans le groupe {group} mais s’était connecté avant : déconnectez-vous et reconnectez-vous sur la machine, ou redémarrez-la.",
  "finding.serial-of-root": "{user} n’a pas le droit d’ouvrir {port}.",
  "finding.serial-of-root.todo":
    "Il appartient à root seul. Sur la machine : sudo chgrp dialout {port}; sudo chmod 660 {port}",
  "finding.serial-in-use": "{port} est utilisé par le processus {pid} ({program}).",
  "finding.serial-in-use.todo": "Fermez ce programme : un seul peut parler au terminal.",
  "finding.port-ours": "{port} est celui du connecteur.",
  "finding.port-free": "{port} est libre.",
  "finding.port-in-use": "{port} est occupé, sans doute par le connecteur lui-même.",
  "finding.port-in-use.todo": "Voyez la ligne de tp-manager.",
  "finding.port-taken": "Un autre programme écoute sur {port}.",
  "finding.port-taken.todo":
    "Fermez ce programme, ou choisissez un autre LOCAL_PORT dans le fichier de configuration et indiquez-le au logiciel de la borne.",
  "finding.port-unusable": "{port} est inutilisable.",
  "finding.port-unusable.todo":
    "Choisissez dans le fichier de configuration un LOCAL_PORT de 1024 à 65535.",
  "finding.port-changed":
    "Le connecteur écoute encore sur {before} ; le fichier de configuration dit {port}.",
  "finding.port-changed.todo": "Sur la machine : {command}",
  "finding.page-served": "{setting} : http://localhost:{port}/",
  "finding.page-free": "{setting} {port} est libre.",
  "finding.page-in-use": "{setting} {port} est occupé, sans doute par le connecteur lui-même.",
  "finding.page-in-use.todo": "Voyez la ligne de tp-manager.",
  "finding.page-taken":
    "Un autre programme écoute sur {setting} {port} : la page manque, les paiements continuent.",
  "finding.page-taken.todo":
    "Fermez ce programme, ou choisissez un autre {setting} dans le fichier de configuration. Puis sur la machine : {command}",
  "finding.page-missing": "La page de {setting} {port} n’est pas là.",
  "finding.page-missing.todo":
    "Corrigez {setting} dans le fichier de configuration. Puis sur la machine : {command}",
  "finding.page-changed":
    "Le connecteur ne sert pas encore {setting} {port} du fichier de configuration.",
  "finding.page-changed.todo": "Sur la machine : {command}",
  "finding.program-runs": "Tourne : processus {pid}, version {version}, depuis {up}.",
  "finding.program-silent": "Le processus {pid} ne répond pas.",
  "finding.program-silent.todo": "Sur la machine : {command}",
  "finding.program-stopped-on-purpose": "Arrêté exprès depuis le {since}.",
  "finding.program-stopped-on-purpose.todo": "Sur la machine : {command}",
  "finding.program-stopped": "Ne tourne pas.",
  "finding.program-stopped.todo": "Sur la machine : {command} ; il dit pourquoi s’il ne peut pas.",
  "finding.terminal-ready": "Les paiements sont acceptés.",
  "finding.terminal-doubtful":
    "Les paiements sont acceptés, mais le terminal signale quelque chose.",
  "finding.terminal-doubtful.todo": "Allez voir le terminal ; « {check} » ci-dessus l’interroge.",
  "finding.terminal-in-doubt": "Les paiements sont acceptés ; en doute : {count}.",
  "finding.terminal-in-doubt.todo":
    "Regardez le journal du terminal, puis dites sous « {doubt} » ce que vous y avez trouvé.",
  "finding.terminal-other-register":
    "Le terminal renvoie un autre numéro de caisse que celui qu’il reçoit.",
  "finding.terminal-other-register.todo":
    "Dans le fichier de configuration, mettez le numéro de caisse du terminal.",
  "finding.assumption-on": "Tenu pour acquis pour ce terminal ({name}).",
  "finding.assumption-off": "N’est pas tenu pour acquis ici ({name}). Désactivé par :",
  "finding.fact-shown": "Le terminal l’a montré ({name}).",
  "finding.fact-not-shown": "Le terminal ne l’a pas encore montré ({name}).",
  "finding.fact-not-always": "Le terminal a montré le contraire ({name}).",
  "finding.terminal-not-asked": "Non interrogé : le connecteur ne répond pas.",
  "finding.terminal-not-asked.todo": "Sur la machine : {command}",
  "finding.queue-right": "{pending} en attente, {parked} refusées, {sent} envoyées",
  "finding.queue-waiting":
    "{pending} en attente, la plus ancienne depuis {oldest} ; {parked} refusées, {sent} envoyées",
  "finding.journal-right": "Paiements qui suivent les règles : {count}",
  "finding.journal-faulty": "Écritures qui violent une règle sur l’argent : {count}",
  "finding.journal-faulty.todo":
    "Sur la machine, {command} les énumère ; envoyez cela et un dossier à l’assistance.",
  "finding.journal-not-audited": "Le journal n’a pas été vérifié.",
  "finding.journal-not-audited.todo": "Sur la machine : {command}",
  "finding.gateway-right": "{url} répond et accepte l’identifiant.",
  "finding.gateway-silent": "{url} n’a pas répondu en {seconds} s.",
  "finding.gateway-silent.todo":
    "Vérifiez réseau, proxy et pare-feu. Les paiements continuent ; ce qui est débité attend ici.",
  "finding.gateway-login-refused": "{url} refuse l’identifiant ou le mot de passe (statut {http}).",
  "finding.gateway-login-refused.todo":
    "Corrigez GATEWAY_LOGIN et GATEWAY_PWD dans le fichier de configuration, puis {command}",
  "finding.gateway-unclear":
    "{url} répond par le statut {http} ; il ne dit pas s’il accepte l’identifiant.",
  "finding.gateway-unclear.todo":
    "Vérifiez GATEWAY_URL dans le fichier de configuration ; le premier paiement le dira.",
  "finding.gateway-not-trusted": "Le certificat de {url} n’est pas digne de confiance.",
  "finding.gateway-not-trusted.todo":
    "Vérifiez GATEWAY_URL, l’horloge de la machine, et un proxy qui ouvrirait TLS.",
  "finding.gateway-no-name": "{url} est injoignable.",
  "finding.gateway-no-name.todo":
    "Vérifiez GATEWAY_URL dans le fichier de configuration et le serveur de noms de la machine.",
  "finding.gateway-out-of-reach": "{url} est injoignable.",
  "finding.gateway-out-of-reach.todo":
    "Vérifiez GATEWAY_URL dans le fichier de configuration, le réseau et le pare-feu.",
  "finding.clock-right": "{at}, fuseau {zone}, comme celle de la passerelle",
  "finding.clock-alone": "{at}, fuseau {zone} ; non comparée à celle de la passerelle",
  "finding.clock-past": "{at}, fuseau {zone} : c’est dans le passé.",
  "finding.clock-past.todo":
    "Laissez la machine régler son horloge par le réseau (timedatectl set-ntp true).",
  "finding.clock-away": "{at}, fuseau {zone} : {seconds} s d’écart avec celle de la passerelle",
  "finding.clock-away.todo":
    "Laissez la machine régler son horloge par le réseau (timedatectl set-ntp true).",
  "finding.schedule-right": "{entry}",
  "finding.schedule-missing": "Rien ne relance ce qui s’arrête ou se bloque.",
  "finding.schedule-missing.todo": "Sur la machine : {install}",
  "finding.schedule-twice": "{unit} et la surveillance veillent tous deux sur le connecteur.",
  "finding.schedule-twice.todo": "Gardez-en un ; sur la machine : {command}",
  "finding.schedule-no-cron": "{entry}, mais cron lui-même ne tourne pas.",
  "finding.schedule-no-cron.todo": "Sur la machine : sudo systemctl enable --now cron",
  "finding.schedule-unknown": "On ne sait pas si la machine relance ce qui s’arrête.",
  "finding.schedule-unknown.todo":
    "Regardez sur la machine : ./launch.sh doctor dit ce que répond son planificateur.",
  "finding.browser-none":
    "Aucune page web ne peut appeler le connecteur (ALLOWED_ORIGINS est vide).",
  "finding.browser-right":
    "Les pages de {origins} peuvent appeler le connecteur ; {policy} est réglée.",
  "finding.browser-asks": "Les pages de {origins} peuvent appeler le connecteur.",
  "finding.browser-asks.todo":
    "Réglez sur elles la stratégie {policy} du navigateur, sinon Chrome et Edge demandent à l’écran.",
  "finding.updates-not-asked": "On ne demande de versions à personne : UPDATE_URL n’est pas réglé.",
  "finding.updates-right": "{url} répond.",
  "finding.updates-old": "Ce que propose {url} est périmé : {at}",
  "finding.updates-old.todo":
    "Vérifiez réseau, horloge, UPDATE_URL et UPDATE_CA_FILE ; prévenez l’éditeur.",
  "finding.updates-silent": "Le serveur des mises à jour ne répond pas comme il faut.",
  "finding.updates-silent.todo":
    "Vérifiez réseau, horloge, UPDATE_URL et UPDATE_CA_FILE ; prévenez l’éditeur.",
  "finding.updates-none": "{url} ne propose aucune mise à jour.",
  "finding.updates-none.todo":
    "Vérifiez réseau, horloge, UPDATE_URL et UPDATE_CA_FILE ; prévenez l’éditeur.",
  "finding.updates-stored-old": "Ce qui est enregistré de l’éditeur est périmé : {at}",
  "finding.updates-stored-old.todo": "« {update} » ci-dessus le renouvelle, ou dit pourquoi non.",
  "finding.updates-no-room": "Il n’y a pas de place pour une nouvelle version.",
  "finding.updates-no-room.todo":
    "Faites de la place sur le disque, sinon aucune nouvelle version n’est prise.",
  "finding.updates-held": "Retenues par {who} depuis {since}, jusqu’au {until}",
  "finding.updates-held.todo": "« {unhold} » ci-dessus y met fin.",
  "finding.updates-held-open":
    "Retenues par {who} depuis {since}, jusqu’à ce que quelqu’un les laisse revenir",
  "finding.updates-held-open.todo": "« {unhold} » ci-dessus y met fin.",
  "doctor.of.certificates": "Certificats",
  "doctor.of.assumptions": "Hypothèses",
  "doctor.of.pages": "Pages",
  "doctor.of.doctor": "Diagnostic",
  "doctor.of.node": "Node.js",
  "doctor.of.tp-manager": "tp-manager",
};
