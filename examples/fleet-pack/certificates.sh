#!/bin/sh
# An authority and the broker's certificate: sh certificates.sh HOST...
# ca.pem goes to the kiosks (FLEET_CA_FILE); ca.key stays on this machine.
set -eu
umask 077
key="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
names=$(for name in "$@"; do printf ',DNS:%s' "$name"; done)
# shellcheck disable=SC2086 # words of an option
openssl req -x509 $key -keyout ca.key -out ca.pem -days 3650 -subj "/CN=fleet authority"
# shellcheck disable=SC2086
openssl req $key -keyout broker.key -out broker.csr -subj "/CN=$1"
printf 'subjectAltName=%s\n' "${names#,}" >broker.ext
openssl x509 -req -in broker.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 825 \
  -extfile broker.ext -out broker.pem
chmod 644 ca.pem broker.pem
rm broker.csr broker.ext
