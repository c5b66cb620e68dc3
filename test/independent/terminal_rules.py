"""What a register may send (docs/zvt.md 6.1 to 6.8), for the independent mock terminal."""

from zvt_wire import Broken, find, number, parse_fields

SUSPENDED = 2.0  # seconds a reset takes
UNLOCKED = {0x0501, 0x06E0, 0x06E1, 0x0600, 0x0602, 0x06C0, 0x06B0}  # docs/zvt.md 5.3
CURES = {0x51: 0x0693, 0x62: 0x0691, 0xB1: 0x0650, 0xF0: 0x0650, 0xC2: 0x0670}  # docs/zvt.md 11.5

PAYMENT = "04 49 19 0E 22 23 24 2D 01 02 05 3A 3C 8A 06"
# control: bytes in front, fields allowed, fields that must be there
LAYOUTS = {
    0x0600: (6, "03 06", ""),
    0x0501: (None, "03 06", ""),
    0x0601: (0, PAYMENT, "04 01 02"),
    0x0622: (0, PAYMENT + " 0B 3B", ""),
    0x0623: (0, "87 04 49 0B 3B 06", "87"),
    0x0624: (0, "87 04 49 19 0B 3B 06", "87 04"),
    0x0625: (0, "87 04 49 19 06", "87"),
    0x0630: (3, "87 04 49 19 0E 22 23 24 06", "87"),
    0x0631: (3, "04 49 19 0E 22 23 24 06", "04"),
    0x0650: (3, "06", ""),
    0x0610: (3, "06", ""),
    0x0620: (3, "03 06", ""),
    0x0670: (0, "06", ""),
    0x0693: (3, "06", ""),
    0x0691: (3, "AA 0C", "AA 0C"),
    0x0618: (0, "", ""),
    0x061A: (0, "06", ""),
    0x0679: (0, "06", ""),
    0x0602: (0, "", ""),
    0x06B0: (0, "D2 FA", ""),
    0x06C0: (1, "19 FC 06", ""),
    0x06E0: (0, "F0 F1 F2 F3 F4 F5 F6 F7 F8 F9 FD 06", ""),
    0x06E1: (0, "F0 F1 F2 F3 F4 F5 F6 F7 F8 F9 FD 06", ""),
}


def check_command(control, data, judge):
    """Gives the numbered fields as a dict and the positional bytes in front of them."""
    if control not in LAYOUTS:
        judge.complain(f"{control:04X} is no command this terminal knows of")
        return {}, b""
    size, allowed, needed = LAYOUTS[control]
    if size is None:  # 05 01 may come without its password
        size = 0 if not data else 3
    if control == 0x0600 and len(data) == 4:
        size = 4  # the currency may be left out, with all behind it
    if len(data) < size:
        raise Broken(f"{control:04X} has only {len(data)} bytes")
    fixed, found = data[:size], dict(parse_fields(data[size:], judge))
    extra = set(found) - set(bytes.fromhex(allowed))
    judge.demand(not extra, f"{control:04X} with fields {bytes(extra).hex()}")
    missing = set(bytes.fromhex(needed)) - set(found)
    if not judge.demand(not missing, f"{control:04X} lacks {bytes(missing).hex()}"):
        raise Broken(f"{control:04X} cannot be obeyed")
    values(control, fixed, found, judge)
    return found, fixed


def values(control, fixed, found, judge):
    if size := LAYOUTS[control][0]:
        password = fixed[:3]
        if size >= 3:
            number(password)
    if control == 0x0600:
        judge.demand(fixed[3] & 0x41 == 0, f"reserved bits in the config byte {fixed[3]:02X}")
        judge.demand(fixed[4:] in (b"", b"\x09\x78"), f"currency {fixed[4:].hex()}")
        # docs/zvt.md 6.1: permitted commands are pairs of bytes
        for tag, value in find(found.get(0x06), "26") or []:
            judge.demand(tag == "0A" and len(value) % 2 == 0, f"tag 26 holds {tag}")
    if 0x04 in found:
        amount = number(found[0x04])
        judge.demand(amount > 0 or control in (0x0623,), "amount 0")
    if 0x49 in found:
        judge.demand(found[0x49] == b"\x09\x78", f"currency {found[0x49].hex()}")
    if 0x19 in found and control != 0x06C0:
        kind = found[0x19][0]
        judge.demand(kind >> 4 <= 5 and kind & 1 == 0, f"payment type {kind:02X}")
    if 0x01 in found:
        judge.demand(found[0x01] != b"\0", "01 gives no time at all")
    if 0x87 in found and found[0x87] != b"\xff\xff":
        judge.demand(number(found[0x87]) > 0, "receipt number 0")
    for tag, value in found.get(0x06) or []:
        if tag == "1F1F" and value:  # docs/zvt.md 9.4: empty, or a receipt number, never 0000
            judge.demand(len(value) == 2 and number(value) > 0, f"1F1F is {value.hex()}")
