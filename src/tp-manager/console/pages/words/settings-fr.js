/** The help of each name of the setup file; the English one comes with the setting. */
export default {
  "setting.SERIAL_PORT":
    "Où est le terminal : un port série, un périphérique USB ou un terminal sur le réseau.",
  "setting.LOCAL_PORT": "Port de l’API locale, sur cette machine seulement.",
  "setting.CONSOLE_PORT":
    "Port de cette console, sur cette machine seulement ; 0 pour aucune. Sans lui, LOCAL_PORT plus 1, ou plus 2 si c’est NOTIFICATION_PORT.",
  "setting.KIOSK_PORT": "Port des pages de la borne, sur cette machine seulement ; 0 pour aucune.",
  "setting.KIOSK_APP":
    "Dossier des pages de la borne, servies sur KIOSK_PORT : docs/browser-kiosk.md.",
  "setting.TERMINAL_MANAGER_LOGIN": "Identifiant de l’API locale (Basic).",
  "setting.TERMINAL_MANAGER_PWD": "Mot de passe de l’API locale.",
  "setting.OPERATOR_LOGIN":
    "Identifiant pour l’entretien, que la paire de la borne ne peut alors plus faire.",
  "setting.OPERATOR_PWD": "Mot de passe pour l’entretien.",
  "setting.SERIAL_BAUD": "Vitesse de la ligne série.",
  "setting.SERIAL_STOP_BITS": "Bits d’arrêt de la ligne série.",
  "setting.TERMINAL_SHARED":
    "D’autres sont payés aussi sur ce terminal : ses totaux ne sont pas comparés au journal.",
  "setting.TERMINAL_PASSWORD": "Le mot de passe de caisse du terminal.",
  "setting.TICKET_WIDTH": "Caractères par ligne du ticket.",
  "setting.LANGUAGE": "Langue des textes sur les messages et résultats du terminal.",
  "setting.CURRENCY": "Devise des paiements qui n’en nomment pas.",
  "setting.PAYMENT_TIMEOUT":
    "Secondes pour un paiement entier ; ensuite l’annulation est demandée au terminal.",
  "setting.PAYMENT_GRACE":
    "Secondes que la borne attend, au-delà de PAYMENT_TIMEOUT, la fin donnée par le terminal.",
  "setting.REPEAT_MUST_MATCH":
    "Ce qui doit rester pareil dans une commande répétée ; amount : d’autres produits sont signalés dans warnings.",
  "setting.ALLOWED_ORIGINS":
    "Origines des pages web qui peuvent appeler l’API locale ; aucune sans lui.",
  "setting.GATEWAY_URL": "Adresse de base des services SOAP de la passerelle.",
  "setting.GATEWAY_LOGIN": "Identifiant de l’API publique à la passerelle.",
  "setting.GATEWAY_PWD": "Mot de passe de l’API publique à la passerelle.",
  "setting.GATEWAY_WEBSITE_ID": "Numéro du site dans le compte marchand.",
  "setting.GATEWAY_CATEGORY_ID": "Catégorie des commandes ; la passerelle donne celles d’un site.",
  "setting.GATEWAY_CALLBACK_URL": "Adresse à laquelle la passerelle envoie ses notifications.",
  "setting.GATEWAY_LOCALE": "Langue et pays des courriels et pages de la passerelle.",
  "setting.GATEWAY_RATING": "Classe d’âge des commandes.",
  "setting.GATEWAY_CUSTOMER_IP": "Adresse donnée comme celle du client.",
  "setting.GATEWAY_API_KEY":
    "Clé de la recherche à la passerelle ; sans elle, identifiant et mot de passe.",
  "setting.GATEWAY_CA_FILE": "Fichier de certificats (PEM) acceptés en plus de ceux du système.",
  "setting.NOTIFICATION_PORT":
    "Port sur lequel les notifications de la passerelle sont prises ; aucune sans lui.",
  "setting.NOTIFICATION_HOST": "Adresse sur laquelle les notifications sont prises.",
  "setting.NOTIFICATION_DIGEST_SECRETS":
    "Ce qui peut signer les notifications hors GATEWAY_PWD : le sel d’un site, un ancien mot de passe.",
  "setting.NOTIFICATION_SECRET":
    "Phrase secrète qui signe l’alerte de fraude de la passerelle ; sans elle, aucune n’est prise.",
  "setting.GATEWAY_WAIT":
    "Millisecondes que la réponse d’un paiement attend la première réponse de la passerelle.",
  "setting.GATEWAY_TIMEOUT": "Millisecondes que peut prendre une requête à la passerelle.",
  "setting.FLEET_URL":
    "Adresse du broker MQTT 5 informé de l’état de cette borne ; aucun sans elle. Une borne sans courant est dite perdue en 45 s (signe de vie toutes les 30 s).",
  "setting.FLEET_ID": "Nom de cette borne dans le parc, différent pour chaque borne.",
  "setting.FLEET_USER": "Identifiant auprès du broker.",
  "setting.FLEET_PASSWORD": "Mot de passe auprès du broker.",
  "setting.FLEET_CERT_FILE": "Fichier du certificat client pour le broker (PEM).",
  "setting.FLEET_KEY_FILE": "Fichier de la clé du certificat client (PEM).",
  "setting.FLEET_CA_FILE":
    "Fichier de certificats (PEM) acceptés pour le broker en plus de ceux du système.",
  "setting.FLEET_PAYMENTS":
    "Dit au parc la fin de chaque paiement : montant et issue, rien du client.",
  "setting.FLEET_COMMANDS": "Prend les demandes du parc ; aucune n’atteint le terminal.",
  "setting.FLEET_UPLOAD_URL":
    "Adresse sous laquelle le parc peut se faire envoyer un dossier d’assistance.",
  "setting.UPDATE_TIME":
    "Heure des mises à jour et des tâches quotidiennes : sauvegarde, archive, vieux journaux.",
  "setting.UPDATE_URL": "Adresse des mises à jour signées ; sans elle, on n’en demande à personne.",
  "setting.UPDATE_CHANNEL": "Canal de l’éditeur d’où viennent les mises à jour.",
  "setting.UPDATE_CA_FILE":
    "Fichier de certificats (PEM) acceptés pour UPDATE_URL au lieu de ceux du système.",
  "setting.AUTO_END_OF_DAY":
    "Lance la télécollecte quand le terminal l’exige ; les ventes d’avant ne peuvent plus être annulées.",
  "setting.LOG_DAYS": "Jours pendant lesquels les journaux techniques sont gardés.",
  "setting.JOURNAL_DAYS":
    "Jours pendant lesquels le journal et la file gardent chaque détail ; ce qui a été débité reste pour toujours.",
  "setting.LOG_LEVEL": "Ce qui est consigné : debug ajoute chaque trame, sans données de carte.",
  "setting.TERMINAL_PROTOCOL": "Protocole que parle le terminal.",
  "setting.ZVT_CONFIG_BYTE":
    "Octet de configuration de l’enregistrement : BE imprime ligne à ligne, 3E d’après le résultat.",
  "setting.ZVT_PROFILE": "Terminal ou prestataire dont les particularités sont suivies.",
  "setting.ZVT_CHARSET":
    "Jeu de caractères d’un terminal qui n’en nomme pas ; sinon celui de ZVT_PROFILE, cp437.",
  "setting.ZVT_MESSAGE_IDS":
    "Messages numérotés (1F73) : auto les utilise si le terminal l’accepte.",
  "setting.ZVT_SEND_LAST_RECEIPT":
    "Nomme le dernier ticket connu (1F1F) : le terminal annule un paiement que nous avons manqué.",
  "setting.ZVT_PRINTS_COUNT":
    "Le terminal ne garde une vente qu’une fois son impression confirmée ; sinon il l’annule.",
  "setting.ZVT_LOG_OFF":
    "Log-Off à chaque arrêt : rend ses touches au terminal jusqu’au prochain démarrage.",
  "setting.ZVT_T1_MS": "Plus long silence entre deux octets d’une trame série (PA00P016).",
  "setting.ZVT_T2_MS": "Plus longue attente de l’accusé d’une trame série.",
  "setting.ZVT_T3_MS": "Plus longue attente de la réponse à une commande.",
  "setting.ZVT_T4_MS": "Plus long silence du terminal pendant qu’il exécute une commande.",
  "setting.POLL_INTERVAL_MS": "À quel rythme un terminal au repos est interrogé sur son état.",
  "setting.RECOVERY_SILENCE_MS": "Silence sur la ligne avant qu’un paiement perdu soit demandé.",
  "setting.CONCERT_VARIANT":
    "Forme de la demande : e, e-plus avec deux options, e-ticket avec un ticket demandé.",
  "setting.CONCERT_REPORT": "Demande le compte rendu avec le numéro de carte masqué.",
  "setting.CONCERT_REGISTER": "Numéro de cette caisse, tel que le terminal peut l’attendre.",
  "setting.CONCERT_LINE":
    "Bits de données, parité et bits d’arrêt d’une ligne série ; 7E1, et 8N1 pour les noms en usb: et le profil pax-nepting.",
  "setting.CONCERT_PROFILE": "Terminal dont les particularités sont suivies.",
  "setting.CAISSE_AP_LINK":
    "Messages nus, une connexion pour chacun, ou dans les sessions d’une ligne série.",
  "setting.CAISSE_AP_VERSION": "Version que nomment les demandes.",
  "setting.CAISSE_AP_ID": "Identifiant du logiciel de caisse (CJ), douze chiffres.",
  "setting.CAISSE_AP_END": "Ce qui suit une demande nue : rien, ou une fin de ligne.",
  "setting.CAISSE_AP_REFERENCE":
    "Champ qui porte la référence de la commande ; cf, et aucun pour le profil ingenico-desk5000.",
  "setting.CAISSE_AP_RECEIPT": "Demande le ticket du client, qui devient le ticket.",
  "setting.TEST_TIMERS":
    "Permet des délais plus courts qu’un vrai terminal n’en demande. Pour les simulateurs seulement.",
};
