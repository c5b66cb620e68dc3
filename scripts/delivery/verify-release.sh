#!/bin/sh
# Verifies the first download of the terminal connector: SECURITY.md, "Verifying what you got".
#   sh verify-release.sh [--fingerprint SHA256] [--test-values] FILE
# Next to FILE are root.json, SHA256SUMS and its signatures, SHA256SUMS.*.sig, of the same release.
# It needs sh, openssl (1.1 or newer) and sha256sum. Exit code 0: FILE is the publisher's;
# 1: refused; 64: a wrong call; 69: a program is missing.
set -u

# A release has its own values here. A thief can change them with everything else in its folder:
# compare the fingerprint with the one that the publisher gave you by another way.
known_fingerprint=""
known_root_version=0
has_test_values=no

nl='
'
refuse() {
  echo "verify-release: REFUSED: $*" >&2
  exit 1
}
misused() {
  [ $# -eq 0 ] || echo "verify-release: $*" >&2
  echo "usage: sh verify-release.sh [--fingerprint SHA256] [--test-values] FILE" >&2
  exit 64
}
# The text of a file in $text: what is checked afterwards is what was read here, once.
read_text() {
  [ -f "$1" ] || refuse "$1 is missing"
  text=""
  while IFS= read -r line; do text="$text$line$nl"; done <"$1"
  [ -z "$line" ] || refuse "$1 has no end of its last line"
}
is_hash() {
  case $1 in *[!0-9a-f]*) return 1 ;; esac
  [ ${#1} -eq 64 ]
}

fingerprint=$known_fingerprint
takes_test_values=no
file=""
while [ $# -gt 0 ]; do
  case $1 in
    --fingerprint)
      [ $# -gt 1 ] || misused
      [ -z "$known_fingerprint" ] || [ "$known_fingerprint" = "$2" ] ||
        refuse "this program came with the fingerprint $known_fingerprint, and not with $2"
      fingerprint=$2
      shift
      ;;
    --test-values) takes_test_values=yes ;;
    -*) misused "$1 is no option" ;;
    *)
      [ -z "$file" ] || misused "one FILE at a time"
      file=$1
      ;;
  esac
  shift
done
[ -n "$file" ] || misused
[ -n "$fingerprint" ] || misused "--fingerprint is missing: the publisher gives it to you"
is_hash "$fingerprint" || misused "a fingerprint has 64 digits 0-9 and a-f"
for program in openssl sha256sum; do
  command -v "$program" >/dev/null || {
    echo "verify-release: $program is not installed" >&2
    exit 69
  }
done
[ "$has_test_values" = no ] || [ "$takes_test_values" = yes ] ||
  refuse "TEST VALUES: nobody keeps the keys of this release; get a publisher's release"
case $file in
  */*) folder=${file%/*} ;;
  *) folder=. ;;
esac
name=${file##*/}

# The root metadata: their fingerprint, which keys may sign, and how many of them have to.
read_text "$folder/root.json"
root=$text
is_signed=no section="" item="" part="" version="" threshold="" ids="" keys="$nl"
while IFS= read -r line; do
  case $line in
    ' "signed": {') is_signed=yes ;;
    ' "'*) is_signed=no ;;
  esac
  [ "$is_signed" = yes ] || continue
  label=${line#*\"}
  label=${label%%\"*}
  value=${line%,}
  value=${value#*: }
  case $line in
    '  "'*)
      section=$label item="" part=""
      [ "$section" != version ] || version=$value
      ;;
    '   "'*) item=$label part="" ;;
    '    "'*)
      part=$label
      [ "$section/$item/$part" != roles/targets/threshold ] || threshold=$value
      ;;
    '     "'*)
      case $section/$item/$part in
        roles/targets/keyids) ids="$ids $label" ;;
        keys/*/keyval) keys="$keys$label $item $value$nl" ;;
      esac
      ;;
  esac
done <<EOF
$root
EOF
for number in "$version" "$threshold"; do
  case $number in
    '' | *[!0-9]* | 0*) refuse "root.json is none that \"npm run updates\" wrote" ;;
  esac
done
[ "$version" -ge "$known_root_version" ] ||
  refuse "root.json is version $version, older than version $known_root_version of this program"
hash=$(printf '%s' "$root" | sha256sum) || refuse "sha256sum failed"
[ "${hash%% *}" = "$fingerprint" ] ||
  refuse "root.json has the fingerprint ${hash%% *}, and not $fingerprint"

# The list of hashes, signed by as many keys as an update needs.
read_text "$folder/SHA256SUMS"
sums=$text
valid=0
used="$nl"
for id in $ids; do
  is_hash "$id" || refuse "root.json names a key $id, which is no id"
  key=${keys#*"${nl}public $id \"-----BEGIN PUBLIC KEY-----\n"}
  key=${key%%'-----END PUBLIC KEY-----\n"'"$nl"*}
  case $key in '' | *[!0-9A-Za-z+/=\\]*) refuse "root.json has no P-256 key $id" ;; esac
  signature="$folder/SHA256SUMS.${id%????????????????????????????????????????????????}.sig"
  [ -f "$signature" ] || continue
  case $used in *"$nl$key$nl"*) continue ;; esac
  if printf '%s' "$sums" |
    openssl dgst -sha256 -verify /dev/fd/3 -signature "$signature" >/dev/null 2>&1 3<<EOF; then
-----BEGIN PUBLIC KEY-----
$(printf '%b' "$key")
-----END PUBLIC KEY-----
EOF
    valid=$((valid + 1))
    used="$used$key$nl"
  else
    echo "verify-release: $signature is no signature of SHA256SUMS by the key $id" >&2
  fi
done
[ "$valid" -ge "$threshold" ] ||
  refuse "SHA256SUMS has $valid valid signatures, and needs $threshold"

# Every line names one file and its hash; FILE has to be one of them.
signed=""
names="$nl"
while IFS= read -r line; do
  hash=${line%%  *}
  listed=${line#"$hash  "}
  is_hash "$hash" || refuse "SHA256SUMS has a line that is no hash of a file: $line"
  case $listed in
    '' | "$hash" | *[!0-9A-Za-z._+~-]*) refuse "SHA256SUMS has a line that names no file: $line" ;;
  esac
  case $names in *"$nl$listed$nl"*) refuse "SHA256SUMS names $listed twice" ;; esac
  names="$names$listed$nl"
  [ "$listed" != "$name" ] || signed=$hash
done <<EOF
${sums%"$nl"}
EOF
[ -n "$signed" ] || refuse "SHA256SUMS does not name $name"
[ -f "$file" ] || refuse "$file is missing"
hash=$(sha256sum <"$file") || refuse "$file cannot be read"
[ "${hash%% *}" = "$signed" ] || refuse "$file was changed: its hash is not the signed one"

echo "$name is genuine: $valid signatures (needed: $threshold), root metadata $version"
echo "fingerprint $fingerprint"
if [ -n "$known_fingerprint" ]; then
  echo "Compare the fingerprint with the one that the publisher gave you by another way."
fi
[ "$takes_test_values" = no ] || echo "TEST VALUES were accepted: install nothing of this release."
