/** The console's own sentences about what the connector tells as codes. */
export default {
  "error.TERMINAL_DISCONNECTED": "Aucune liaison avec le terminal.",
  "error.TERMINAL_OUT_OF_ORDER": "Le terminal n’accepte pas de carte actuellement.",
  "error.TERMINAL_IN_DOUBT": "Un paiement ou une vente est incertain ; le terminal est interrogé.",
  "error.TERMINAL_CHANGED": "Le terminal branché n’est pas celui qui a été accepté.",
  "error.STORAGE_FAILED": "Le journal ne peut être lu ou écrit.",
  "error.STORES_DISAGREE": "Les commandes connues du superviseur sont en cours de reprise.",
  "error.STOPPING": "Le connecteur s’arrête.",
  "error.UPDATING": "Une nouvelle version est à l’essai.",
  "error.TERMINAL_BUSY":
    "Un paiement est en cours, ou le terminal est occupé. Réessayez plus tard.",
  "error.TERMINAL_NO_ANSWER": "Le terminal ne répond pas ; il redémarre peut-être.",
  "error.TERMINAL_REFUSED": "Le terminal l’a refusé.",
  "error.TERMINAL_FAULT": "Le terminal a eu une panne ; rien n’a été débité.",
  "error.TERMINAL_SALE_UNMATCHED": "Le terminal a une vente qui ne correspond à aucune commande.",
  "error.REQUEST_INVALID": "Une saisie n’est pas correcte.",
  "error.CARD_DATA_REFUSED": "Cela ressemble à un numéro de carte. N’en saisissez jamais.",
  "error.UNAUTHORIZED": "La session est terminée. Connectez-vous de nouveau.",
  "error.OPERATOR_REQUIRED": "Cela demande l’identifiant de l’opérateur.",
  "error.ORDER_NOT_FOUND": "Aucune commande de ce nom n’est connue.",
  "error.GATEWAY_TRANSACTION_NOT_FOUND": "La passerelle ne connaît pas cette transaction.",
  "error.OUTBOX_ITEM_NOT_FOUND": "Elle n’attend plus la passerelle.",
  "error.OUTBOX_ITEM_SETTLED": "Elle a déjà été envoyée ou close.",
  "error.OUTBOX_ITEM_BUSY": "Elle est en cours d’envoi. Réessayez dans une minute.",
  "error.NOTHING_TO_CANCEL": "Aucun paiement n’est en cours.",
  "error.CANCEL_REFUSED": "Le terminal n’a pas accepté l’annulation.",
  "error.ORDER_REVERSED": "L’argent de cette commande a été rendu ; elle est terminée.",
  "error.ORDER_NOT_CHARGED": "Cette commande n’a pas été débitée : il n’y a rien à rendre.",
  "error.NOTHING_TO_SETTLE": "Cette commande n’est plus incertaine.",
  "error.DELIVERY_DECIDED": "La remise du produit a déjà été décidée.",
  "error.REVERSAL_REFUSED": "Le terminal ne l’a pas annulée. Remboursez par la passerelle.",
  "error.REVERSAL_NOT_SAFE":
    "Son numéro de ticket désigne peut-être une autre vente : rien n’a été envoyé. Remboursez par la passerelle.",
  "error.OPEN_PRE_AUTHORISATIONS":
    "Des préautorisations sont ouvertes : clôturez-les ou annulez-les d’abord.",
  "error.GATEWAY_ID_UNKNOWN": "On ne sait pas encore quelle est sa transaction à la passerelle.",
  "error.GATEWAY_OPERATION_OPEN":
    "Une opération antérieure à la passerelle est ouverte : voir « {doubt} ».",
  "error.REFUND_REPEATED":
    "Ce montant partiel a été remboursé dans les dernières 24 heures, ou l’a peut-être été.",
  "error.IDEMPOTENCY_KEY_REUSED":
    "Cette clé a déjà servi à autre chose : cette fois, rien n’a été fait.",
  "error.GATEWAY_REFUSED": "La passerelle ne l’a pas exécutée.",
  "error.GATEWAY_NOT_SENT": "La passerelle n’a pas été jointe ; rien n’a été fait.",
  "error.GATEWAY_OPERATION_UNKNOWN":
    "La réponse de la passerelle s’est perdue : nul ne sait si c’est fait. Voir « {doubt} ».",
  "error.GATEWAY_LOOKUP_FAILED": "La passerelle n’a pu être interrogée.",
  "error.SUPERVISOR_UNAVAILABLE": "Le superviseur ne répond pas.",
  "error.NOT_SUPPORTED": "Cette version ou ce terminal ne sait pas le faire.",
  "error.TELECOLLECTION_FAILED": "La télécollecte a échoué, ou son issue n’est pas connue.",
  "error.RESET_FAILED": "Le terminal n’est pas encore revenu. Allez le voir.",
  "error.PAYMENT_RUNNING": "Le paiement est en cours.",
  "error.PAYMENT_UNKNOWN": "On ne sait pas encore ce que le paiement est devenu.",
  "error.PAYMENT_DECLINED": "La carte a été refusée.",
  "error.PAYMENT_CANCELLED": "Le paiement a été annulé.",
  "error.CUSTOMER_TIMEOUT": "Le client a mis trop longtemps.",
  "error.GOODS_NOT_DELIVERED": "Aucun produit n’est sorti : rien n’a été débité.",
  "error.SETTLED_NOT_CHARGED": "Une personne l’a constaté : rien n’a été débité.",
  "error.INTERNAL":
    "Une erreur du connecteur. Téléchargez un dossier d’assistance sous « {care} ».",
  "error.other": "Le connecteur l’a refusé.",
  "todo.TERMINAL_DISCONNECTED":
    "Vérifiez son alimentation et son câble ; le connecteur réessaie de lui-même.",
  "todo.TERMINAL_NO_ANSWER":
    "Voyez s’il affiche quelque chose, et sa ligne ; « {check} » sous « {care} » l’interroge à nouveau.",
  "todo.TERMINAL_OUT_OF_ORDER":
    "Allez voir le terminal ; « {check} » sous « {care} » dit ce qu’il lui faut.",
  "todo.TERMINAL_BUSY":
    "Cela se termine tout seul ; si cela dure, quelqu’un est dans le menu du terminal.",
  "todo.TERMINAL_IN_DOUBT": "Attendez quelques minutes, puis voyez « {doubt} ».",
  "todo.TERMINAL_CHANGED":
    "S’il a été remplacé exprès : « {accept} » sous « {care} » ou « {doubt} ».",
  "todo.STORAGE_FAILED":
    "Vérifiez le disque du dossier data : place, droits, état. Ensuite, tout reprend tout seul. " +
    "Si le fichier du journal a disparu : ./launch.sh stop, restore journal, start.",
  "todo.STORES_DISAGREE": "Cela se termine dès que le superviseur répond.",
  "todo.STOPPING": "./launch.sh start le relance.",
  "todo.UPDATING": "Cela se termine en quelques minutes.",
  "note.journal-doubted":
    "Il manque peut-être des commandes au journal : chaque nouvelle est d’abord recherchée, jusqu’à la prochaine télécollecte. ./launch.sh stores accept y met fin avant.",
  "note.sales-unmatched": "Ventes du terminal sans commande ici : {count}",
  "note.disk-full": "Le disque du dossier data est presque plein.",
  "note.in-doubt": "Paiements incertains : {count}. Voir « {doubt} ».",
  "trouble.supervisor-silent": "Le superviseur ne répond pas.",
  "trouble.supervisor-silent.todo":
    "./launch.sh start ; s’il tourne et se tait, ./launch.sh restart.",
  "trouble.hand-over-failing":
    "Le superviseur ne prend aucune transaction ; elles attendent dans le journal.",
  "trouble.hand-over-failing.todo":
    "./launch.sh status ; les journaux du superviseur sous « {care} » disent pourquoi.",
  "trouble.hand-over-refused": "Le superviseur refuse certaines transactions.",
  "trouble.hand-over-refused.todo": "Renvoyez-les ou fermez-les, sous « {doubt} ».",
  "trouble.reversed-at-terminal-only":
    "Annulé sur le terminal seulement ; la passerelle a toujours la commande.",
  "trouble.reversed-at-terminal-only.todo":
    "Annulez ou remboursez-la dans le compte marchand de la passerelle, puis marquez-la comme vue.",
  "trouble.sales-without-order": "Transactions non rattachées à traiter : {count}",
  "trouble.sales-without-order.todo":
    "Regardez le journal du terminal ; marquez-les comme vues, sous « {doubt} ».",
  "trouble.differences": "Écarts avec le journal à traiter : {count}",
  "trouble.differences.todo":
    "Comparez les commandes ; marquez l’écart comme vu, sous « {doubt} ».",
  "trouble.amounts-refused":
    "Certains montants sont refusés, car une commande du même montant est incertaine.",
  "trouble.amounts-refused.todo":
    "Regardez le journal du terminal, puis indiquez-le sous « {doubt} ».",
  "trouble.charges-unread": "Débité, mais la borne a reçu une autre réponse ou aucune.",
  "trouble.charges-unread.todo": "Aidez le client, puis marquez comme vu.",
  "trouble.credentials-refused":
    "La passerelle refuse l’identifiant ou le mot de passe : rien n’est envoyé.",
  "trouble.credentials-refused.todo":
    "Corrigez GATEWAY_LOGIN et GATEWAY_PWD dans le fichier de configuration, puis ./launch.sh restart.",
  "trouble.certificates-end": "Un certificat expire dans moins de 30 jours ou a expiré.",
  "trouble.certificates-end.todo": "Remplacez le fichier indiqué, puis ./launch.sh restart.",
  "trouble.gateway-misconfigured":
    "Le certificat de la passerelle n’est pas reconnu, ou elle refuse l’accès.",
  "trouble.gateway-misconfigured.todo":
    "Vérifiez GATEWAY_URL, GATEWAY_CA_FILE, l’horloge et un éventuel proxy.",
  "trouble.lookup-refused":
    "La passerelle refuse la recherche de commandes alors qu’une réponse perdue est ouverte.",
  "trouble.lookup-refused.todo":
    "Définissez GATEWAY_API_KEY, ou faites autoriser la recherche pour l’identifiant.",
  "trouble.queue-unwritable": "Le superviseur ne peut pas écrire sa base de données.",
  "trouble.queue-unwritable.todo":
    "Vérifiez le disque du dossier data : place, droits, état. Rien ne se perd entre-temps. " +
    "Si le fichier de la base a disparu : ./launch.sh stop, restore supervisor, start.",
  "trouble.queue-old":
    "Transactions en attente de la passerelle depuis plus de 10 minutes : {count}",
  "trouble.queue-old.todo": "« {doctor} » sous « {care} » interroge la passerelle.",
  "trouble.transactions-parked": "Transactions mises de côté : {count}",
  "trouble.transactions-parked.todo": "Renvoyez-les ou fermez-les, sous « {doubt} ».",
  "trouble.order-copies": "La passerelle a peut-être des commandes en double : {count}",
  "trouble.order-copies.todo":
    "Cherchez-les dans le compte marchand ; puis indiquez-le sous « {doubt} ».",
  "trouble.operations-unknown": "Opérations à la passerelle dont la réponse s’est perdue : {count}",
  "trouble.operations-unknown.todo": "« {look} » sous « {doubt} » peut le régler.",
  "trouble.notifications-refused": "Des notifications de la passerelle sont refusées.",
  "trouble.notifications-refused.todo":
    "Comparez GATEWAY_PWD et NOTIFICATION_DIGEST_SECRETS avec le compte marchand.",
  "trouble.update-failed": "Une nouvelle version a échoué ici ; la précédente tourne.",
  "trouble.update-failed.todo":
    "Envoyez un dossier d’assistance (« {care} ») ; cette version n’est plus essayée.",
  "trouble.updates-stuck": "Depuis trois nuits, aucune mise à jour n’a pu être cherchée ou prise.",
  "trouble.updates-stuck.todo":
    "« {update} » sous « {care} » dit pourquoi ; vérifiez UPDATE_URL, réseau, horloge et disque.",
  "alarm.payment-unknown": "Un paiement est incertain : voir « {doubt} ».",
  "alarm.charged-late":
    "Le terminal a signalé une vente tardivement : la commande a bien été débitée.",
  "alarm.order-charged-twice":
    "Une commande est peut-être débitée deux fois : regardez le journal du terminal et rendez l’un des débits.",
  "alarm.second-sale-in-payment":
    "Le terminal a signalé une deuxième vente dans un paiement : regardez son journal.",
  "alarm.approved-after-cancel": "Le terminal a approuvé un paiement annulé.",
  "alarm.charged-without-delivery": "Débité, sans confirmation que le produit est sorti.",
  "alarm.charged-beyond-goods": "Le terminal a débité plus que les produits sortis.",
  "alarm.charge-unread": "Une commande est débitée et la borne l’ignore.",
  "alarm.unmatched-transaction":
    "Le terminal a une transaction qui n’est rattachée à aucune commande avec certitude : il est interrogé.",
  "alarm.unmatched-transaction.held":
    "Le terminal garde une transaction qui n’est rattachée à aucune commande avec certitude.",
  "alarm.unmatched-transaction.unclear":
    "Nul ne sait si le terminal garde une transaction non rattachée.",
  "alarm.sale-without-order": "Le terminal a une vente sans commande.",
  "alarm.sale-without-order-unclear": "Nul ne sait si le terminal a une vente sans commande.",
  "alarm.unexpected-report": "Le terminal a signalé un résultat qu’aucune commande n’a demandé.",
  "alarm.report-mismatch": "Le terminal a signalé autre chose que ce qui était demandé.",
  "alarm.report-differs": "Deux messages du terminal sur une vente diffèrent.",
  "alarm.reversal-mismatch": "La réponse du terminal à une annulation désigne autre chose.",
  "alarm.reversed-elsewhere": "Une vente a été annulée ailleurs.",
  "alarm.reversed-after-sending": "Une vente a été annulée et la passerelle a sa commande.",
  "alarm.open-pre-authorisations": "Des préautorisations sont ouvertes sur le terminal.",
  "alarm.end-of-day-failed": "La télécollecte a échoué : relancez-la sous « {care} ».",
  "alarm.daily-chore": "Une tâche quotidienne a échoué.",
  "alarm.terminal-difference": "Les totaux du terminal diffèrent du journal.",
  "alarm.gateway-difference": "Ce qu’a la passerelle diffère du journal.",
  "alarm.receipt-number-missing": "Des numéros de ticket manquent entre deux ventes.",
  "alarm.hand-off-refused": "Le superviseur refuse une transaction : voir « {doubt} ».",
  "alarm.transaction-parked": "Une transaction est mise de côté : voir « {doubt} ».",
  "alarm.gateway-operation-failed":
    "Une opération à la passerelle a échoué : faites-la dans le compte marchand.",
  "alarm.gateway-answer-mismatch":
    "La passerelle a répondu sur autre chose ; la commande est recherchée.",
  "alarm.gateway-order-twice":
    "La passerelle a une commande en double : annulez-en ou remboursez-en une dans le compte marchand.",
  "alarm.transaction-changed":
    "Une vente est arrivée deux fois au superviseur, avec des contenus différents.",
  "alarm.notification-mismatch":
    "Une notification de la passerelle ne correspond pas à notre commande.",
  "alarm.notification-unreadable": "Une notification de la passerelle n’a pas pu être lue.",
  "alarm.chargeback-or-fraud": "La banque a repris de l’argent ou signalé une fraude.",
  "alarm.fleet-twin": "Une autre borne utilise le FLEET_ID de celle-ci.",
  "alarm.update-hold-ended":
    "La flotte a suspendu une mise à jour trop longtemps ; elle ne l’est plus.",
  "alarm.card-number-masked": "Un numéro de carte complet est arrivé et a été masqué ici.",
  "alarm.journal-lost": "Le journal a été perdu ou restauré.",
  "alarm.outbox-lost": "La base du superviseur a été perdue ou restaurée.",
  "alarm.gateway-order-ambiguous":
    "La passerelle a peut-être une commande en double : voir « {doubt} ».",
  "alarm.gateway-operation-unknown":
    "La réponse à une opération à la passerelle s’est perdue : voir « {doubt} ».",
  "updates.done": "{what} : fait.",
  "updates.notDone": "{what} : cela n’a pas réussi.",
  "care.reset.done": "Le terminal a redémarré.",
  "care.accept.done": "Le terminal est accepté.",
  "acts.other": "Autre action",
  "doctor.of.terminal": "Terminal",
  "doctor.of.payments": "Paiements",
  "doctor.of.gateway": "Passerelle",
  "doctor.of.queue": "File de la passerelle",
  "doctor.of.disk": "Disque",
  "doctor.of.clock": "Horloge",
  "doctor.of.updates": "Mises à jour",
  "doctor.of.notifications": "Notifications de la passerelle",
  "doctor.of.supervisor": "Superviseur",
  "doctor.of.config": "Fichier de configuration",
  "doctor.of.access": "Accès aux fichiers",
  "doctor.of.browser": "Navigateur",
  "doctor.of.data folder": "Dossier data",
  "doctor.of.journal": "Journal",
  "doctor.of.local port": "Port de l’interface locale",
  "doctor.of.schedule": "Relance par la machine",
  "doctor.of.serial port": "Port série",
  "doctor.of.hand-over": "Transmission au superviseur",
  "alarm.journal": "Une écriture dans le journal a échoué.",
  "alarm.hand-off": "Une transaction n’a pu être transmise au superviseur.",
  "alarm.update-metadata": "Les métadonnées des mises à jour expirent ou ont expiré.",
  zone: "Heures et dates : {zone}",
  "seen.mark": "Vu",
  "seen.all": "Tout marquer comme vu",
  "seen.title": "Marquer comme vu",
  "seen.sentence":
    "C’est traité, et l’alarme prend fin. Ce que l’on sait de l’argent ne change pas.",
  "seen.done": "Marqué comme vu.",
  "seen.order": "Vu : {orderId}",
  done: "fait",
};
