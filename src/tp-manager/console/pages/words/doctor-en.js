/** The page's own sentences about what the doctor finds, by its codes. */
export default {
  "finding.doctor-no-report": "The examination made no report.",
  "finding.doctor-no-report.todo":
    "Examine again; if it stays so, run ./launch.sh doctor on the machine.",
  "finding.node-right": "{version}",
  "finding.node-old": "{version} is too old.",
  "finding.node-old.todo":
    "Remove node_modules on the machine and run ./launch.sh: it installs the right one.",
  "finding.data-folder-right": "{folder}",
  "finding.data-folder-closed": "The data folder cannot be used.",
  "finding.data-folder-closed.todo":
    "Create it, or give it to the user who runs the connector (chown -R).",
  "finding.disk-right": "{free} MB free",
  "finding.disk-low": "Only {free} MB free",
  "finding.disk-low.todo": "Make room: without it no payment can be written, and none is taken.",
  "finding.disk-full": "Only {free} MB free: nearly full",
  "finding.disk-full.todo": "Make room: without it no payment can be written, and none is taken.",
  "finding.disk-no-files": "{free} MB free, but no room for more files",
  "finding.disk-no-files.todo":
    "Make room: without it no payment can be written, and none is taken.",
  "finding.access-right": "This user, the system and the administrators only",
  "finding.access-open": "Everybody may use the data folder ({names}).",
  "finding.access-open.todo":
    'As an administrator on the machine: icacls "{folder}" /reset, then {close}',
  "finding.access-inherited": "The rights of the folder above hold for the data folder too.",
  "finding.access-inherited.todo": "On the machine: {close}",
  "finding.access-not-ours": "The user who runs the connector is not named in the rights.",
  "finding.access-not-ours.todo": "On the machine: {close}",
  "finding.access-others": "Others are let in too: {names}",
  "finding.access-others.todo":
    'As an administrator on the machine: icacls "{folder}" /reset, then {close}',
  "finding.access-unknown": "Who may use the data folder is not known.",
  "finding.access-unknown.todo": "Look yourself: in the folder’s properties, under Security.",
  "finding.setup-right": "{file} is complete.",
  "finding.setup-faulty": "There is a fault in {file}.",
  "finding.setup-faulty.todo": "Correct the line that is named, then {command}",
  "finding.setup-unreadable": "The setup file cannot be read.",
  "finding.setup-unreadable.todo":
    "It must be there as UTF-8 text and belong to the user of the programs; data/config.example.txt is a pattern.",
  "finding.setup-doubtful": "Something in {file} is doubtful.",
  "finding.setup-doubtful.todo": "“{settings}” below shows what is set; it is changed in the file.",
  "finding.serial-network": "{port} is on the network.",
  "finding.serial-right": "{port}",
  "finding.serial-numbered": "{port}",
  "finding.serial-numbered.todo": "SERIAL_PORT={address} would find it under any number.",
  "finding.serial-several": "{address} fits several: {ports}",
  "finding.serial-several.todo":
    "Add the serial number to SERIAL_PORT in the setup file, or name one below /dev/serial/by-id.",
  "finding.serial-missing": "{address} is not there.",
  "finding.serial-missing.todo":
    "Check the cable; or set SERIAL_PORT in the setup file to one of {ports}",
  "finding.serial-none": "{address} is not there: this machine has no serial port at all.",
  "finding.serial-none.todo": "Plug the terminal in and switch it on.",
  "finding.serial-no-port": "{port} is no serial port.",
  "finding.serial-no-port.todo": "Set SERIAL_PORT in the setup file to one: {ports}",
  "finding.serial-not-allowed": "{user} may not open {port}.",
  "finding.serial-not-allowed.todo":
    "On the machine: sudo usermod -aG {group} {user}, then log out and in again, or reboot.",
  "finding.serial-log-in-again": "{user} may not open {port}.",
  "finding.serial-log-in-again.todo":
    "{user} is in the group {group} but logged in before: log out and in on the machine, or reboot it.",
  "finding.serial-of-root": "{user} may not open {port}.",
  "finding.serial-of-root.todo":
    "It belongs to root alone. On the machine: sudo chgrp dialout {port}; sudo chmod 660 {port}",
  "finding.serial-in-use": "{port} is in use by process {pid} ({program}).",
  "finding.serial-in-use.todo": "End that program: only one can talk to the terminal.",
  "finding.port-ours": "{port} is the connector’s.",
  "finding.port-free": "{port} is free.",
  "finding.port-in-use": "{port} is in use, most likely by the connector itself.",
  "finding.port-in-use.todo": "See the line of tp-manager.",
  "finding.port-taken": "Another program listens on {port}.",
  "finding.port-taken.todo":
    "End that program, or choose another LOCAL_PORT in the setup file and tell the kiosk software.",
  "finding.port-unusable": "{port} cannot be used.",
  "finding.port-unusable.todo": "Choose a LOCAL_PORT from 1024 to 65535 in the setup file.",
  "finding.port-changed": "The connector still listens on {before}; the setup file says {port}.",
  "finding.port-changed.todo": "On the machine: {command}",
  "finding.page-served": "{setting}: http://localhost:{port}/",
  "finding.page-free": "{setting} {port} is free.",
  "finding.page-in-use": "{setting} {port} is in use, most likely by the connector itself.",
  "finding.page-in-use.todo": "See the line of tp-manager.",
  "finding.page-taken":
    "Another program listens on {setting} {port}: the page is missing, payments go on.",
  "finding.page-taken.todo":
    "End that program, or set another {setting} in the setup file. Then on the machine: {command}",
  "finding.page-missing": "The page at {setting} {port} is not there.",
  "finding.page-missing.todo":
    "Set {setting} right in the setup file. Then on the machine: {command}",
  "finding.page-changed": "The connector does not serve {setting} {port} of the setup file yet.",
  "finding.page-changed.todo": "On the machine: {command}",
  "finding.program-runs": "Runs as process {pid}, version {version}, for {up}.",
  "finding.program-silent": "Process {pid} does not answer.",
  "finding.program-silent.todo": "On the machine: {command}",
  "finding.program-stopped-on-purpose": "Stopped on purpose since {since}.",
  "finding.program-stopped-on-purpose.todo": "On the machine: {command}",
  "finding.program-stopped": "Does not run.",
  "finding.program-stopped.todo": "On the machine: {command}; it says why if it cannot.",
  "finding.terminal-ready": "Payments are taken.",
  "finding.terminal-doubtful": "Payments are taken, but the terminal reports something.",
  "finding.terminal-doubtful.todo": "Look at the terminal; “{check}” above asks it.",
  "finding.terminal-in-doubt": "Payments are taken; in doubt are {count}.",
  "finding.terminal-in-doubt.todo":
    "Look in the terminal’s own journal, then say what you found: {doubt}.",
  "finding.terminal-other-register":
    "The terminal gives another register number back than it is sent.",
  "finding.terminal-other-register.todo":
    "In the setup file, set the register’s number to the one of the terminal.",
  "finding.terminal-not-asked": "Not asked: the connector does not answer.",
  "finding.terminal-not-asked.todo": "On the machine: {command}",
  "finding.queue-right": "{pending} waiting, {parked} refused, {sent} sent",
  "finding.queue-waiting":
    "{pending} waiting, the oldest for {oldest}; {parked} refused, {sent} sent",
  "finding.journal-right": "Payments that follow the rules: {count}",
  "finding.journal-faulty": "Records that break a rule about money: {count}",
  "finding.journal-faulty.todo":
    "On the machine {command} lists them; send that and a support bundle to support.",
  "finding.journal-not-audited": "The journal was not audited.",
  "finding.journal-not-audited.todo": "On the machine: {command}",
  "finding.gateway-right": "{url} answers and accepts the login.",
  "finding.gateway-silent": "{url} has not answered within {seconds} s.",
  "finding.gateway-silent.todo":
    "Check network, proxy and firewall. Payments go on; what is charged waits here.",
  "finding.gateway-login-refused": "{url} refuses login or password (status {http}).",
  "finding.gateway-login-refused.todo":
    "Correct GATEWAY_LOGIN and GATEWAY_PWD in the setup file, then {command}",
  "finding.gateway-unclear":
    "{url} answers with status {http}; whether it accepts the login it does not say.",
  "finding.gateway-unclear.todo":
    "Check GATEWAY_URL in the setup file; the first payment will tell.",
  "finding.gateway-not-trusted": "The certificate of {url} is not trusted.",
  "finding.gateway-not-trusted.todo":
    "Check GATEWAY_URL, the machine’s clock, and any proxy that opens TLS.",
  "finding.gateway-no-name": "{url} cannot be reached.",
  "finding.gateway-no-name.todo":
    "Check GATEWAY_URL in the setup file and the machine’s name server.",
  "finding.gateway-out-of-reach": "{url} cannot be reached.",
  "finding.gateway-out-of-reach.todo": "Check GATEWAY_URL in the setup file, network and firewall.",
  "finding.clock-right": "{at}, time zone {zone}, as the gateway’s",
  "finding.clock-alone": "{at}, time zone {zone}; not compared with the gateway’s",
  "finding.clock-past": "{at}, time zone {zone}: that is in the past.",
  "finding.clock-past.todo":
    "Let the machine set its clock from the network (timedatectl set-ntp true).",
  "finding.clock-away": "{at}, time zone {zone}: {seconds} s away from the gateway’s",
  "finding.clock-away.todo":
    "Let the machine set its clock from the network (timedatectl set-ntp true).",
  "finding.schedule-right": "{entry}",
  "finding.schedule-missing": "Nothing restarts what dies or hangs.",
  "finding.schedule-missing.todo": "On the machine: {install}",
  "finding.schedule-twice": "{unit} and the keep-alive both look after the connector.",
  "finding.schedule-twice.todo": "Keep one of them; on the machine: {command}",
  "finding.schedule-no-cron": "{entry}, but cron itself does not run.",
  "finding.schedule-no-cron.todo": "On the machine: sudo systemctl enable --now cron",
  "finding.schedule-unknown": "Whether the machine restarts what dies is not known.",
  "finding.schedule-unknown.todo":
    "Look on the machine: ./launch.sh doctor says what its scheduler answers.",
  "finding.browser-none": "No web page may call the connector (ALLOWED_ORIGINS is empty).",
  "finding.browser-right": "Pages of {origins} may call the connector; {policy} is set.",
  "finding.browser-asks": "Pages of {origins} may call the connector.",
  "finding.browser-asks.todo":
    "Set the enterprise policy {policy} of the browser to them, or Chrome and Edge ask at the screen.",
  "finding.updates-not-asked": "Nobody is asked for versions: UPDATE_URL is not set.",
  "finding.updates-right": "{url} answers.",
  "finding.updates-old": "What {url} offers has expired: {at}",
  "finding.updates-old.todo":
    "Check network, clock, UPDATE_URL and UPDATE_CA_FILE; tell the publisher.",
  "finding.updates-silent": "The server of updates does not answer as it should.",
  "finding.updates-silent.todo":
    "Check network, clock, UPDATE_URL and UPDATE_CA_FILE; tell the publisher.",
  "finding.updates-none": "{url} offers no updates.",
  "finding.updates-none.todo":
    "Check network, clock, UPDATE_URL and UPDATE_CA_FILE; tell the publisher.",
  "finding.updates-stored-old": "What was stored of the publisher has expired: {at}",
  "finding.updates-stored-old.todo": "“{update}” above fetches it anew, or says why not.",
  "finding.updates-no-room": "There is no room to take a new version.",
  "finding.updates-no-room.todo": "Make room on the disk, or no new version is taken.",
  "finding.updates-held": "Held by {who} since {since}, until {until}",
  "finding.updates-held.todo": "“{unhold}” above ends it.",
  "finding.updates-held-open": "Held by {who} since {since}, until somebody lets them in again",
  "finding.updates-held-open.todo": "“{unhold}” above ends it.",
  "doctor.of.certificates": "Certificates",
  "doctor.of.pages": "Pages",
  "doctor.of.doctor": "Doctor",
  "doctor.of.node": "Node.js",
  "doctor.of.tp-manager": "tp-manager",
};
