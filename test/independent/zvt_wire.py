"""The messages of ZVT, written a second time from the protocol alone.

Shared by register.py and terminal.py, like zvt_link.py. It has nothing in common with the
driver or the simulator of this project, and that is its purpose: two readings of one text
must agree.
"""

# docs/zvt.md 11.1: number of the field -> count of bytes, or how the length is written.
LL, LLL, TLV = "LL", "LLL", "TLV"
FIELDS = {0x06: TLV}
for _size, _numbers in {
    1: "01 02 03 05 19 27 72 73 74 75 8A 8C A0 D0 D2 D3 E0 E9 EA F0 F9 FA FB FC FD",
    2: "0D 0E 17 3A 49 87",
    3: "0B 0C 37 3D 88 AA",
    4: "29 70 71",
    5: "BA",
    6: "04",
    8: "3B EB",
    15: "2A",
    LL: "22 23 2D 4C 8B A7 D1 E1 E2 E3 E4 E5 E6 E7 E8 F1 F2 F3 F4 F5 F6 F7 F8",
    LLL: "24 2E 3C 60 92 9A AF",
}.items():
    for _number in _numbers.split():
        FIELDS[int(_number, 16)] = _size


class Broken(Exception):
    """Bytes that are no well-formed message."""


class Judge:
    """Collects what the other side did wrong; nothing is forgiven silently."""

    def __init__(self, tell=lambda text: None):
        self.problems, self.tell = [], tell

    def complain(self, text):
        self.tell(text)
        self.problems.append(text)

    def demand(self, good, text):
        if not good:
            self.complain(text)
        return good

    def take(self):
        found, self.problems = self.problems, []
        return found


def bcd(digits, size):
    return bytes.fromhex(str(digits).rjust(size * 2, "0"))


def number(data):
    """Value of packed digits; Broken when a nibble is none."""
    if not data.hex().isdigit():
        raise Broken(f"no digits: {data.hex()}")
    return int(data.hex())


def apdu(control, data=b""):
    """docs/zvt.md 4.1: the long form of the length only where the short one does not reach."""
    size = len(data)
    length = bytes([size]) if size < 255 else b"\xff" + size.to_bytes(2, "little")
    return control.to_bytes(2, "big") + length + data


def split_apdu(raw, judge):
    control, length, start = int.from_bytes(raw[:2], "big"), raw[2], 3
    if length == 255:
        length, start = int.from_bytes(raw[3:5], "little"), 5
        judge.demand(length >= 255, f"{control:04X}: long length form for {length} bytes")
    if len(raw) != start + length:
        raise Broken(f"length says {length}, there are {len(raw) - start}: {raw.hex()}")
    return control, raw[start:]


def tlv_length(data, at, judge):
    first = data[at]
    if first < 0x80:
        return first, at + 1
    count = {0x81: 1, 0x82: 2}.get(first)
    if count is None or at + 1 + count > len(data):
        raise Broken(f"container length {data[at:at + 3].hex()}")
    size = int.from_bytes(data[at + 1 : at + 1 + count], "big")
    judge.demand(size >= (0x80 if count == 1 else 0x100), f"container length {size} not shortest")
    return size, at + 1 + count


def parse_tlv(data, judge):
    """docs/zvt.md 4.3: the objects of a container as (tag, bytes or list)."""
    found, at = [], 0
    while at < len(data):
        start, constructed = at, data[at] & 0x20
        if data[at] & 0x1F == 0x1F:
            at += 1
            while at < len(data) and data[at] & 0x80:
                at += 1
        at += 1
        if at >= len(data):
            raise Broken(f"tag without length: {data[start:].hex()}")
        tag = data[start:at].hex().upper()
        size, at = tlv_length(data, at, judge)
        if at + size > len(data):
            raise Broken(f"tag {tag} longer than its container")
        value = data[at : at + size]
        found.append((tag, parse_tlv(value, judge) if constructed else value))
        at += size
    return found


def tlv(tag, content):
    """One data object from its tag in hex and bytes or a list of objects."""
    body = content if isinstance(content, bytes) else b"".join(content)
    size = len(body)
    length = bytes([size]) if size < 128 else b"\x81" + bytes([size]) if size < 256 else None
    return bytes.fromhex(tag) + (length or b"\x82" + size.to_bytes(2, "big")) + body


def find(objects, path):
    """Content under a path like 'E4/1F42', None where it is missing."""
    head, _, rest = path.partition("/")
    for tag, value in objects or []:
        if tag == head:
            return find(value, rest) if rest else value
    return None


def parse_fields(data, judge):
    """docs/zvt.md 4.2: numbered fields in wire order, as a list of (number, bytes or objects)."""
    found, at = [], 0
    while at < len(data):
        num = data[at]
        if num not in FIELDS:
            raise Broken(f"unknown field {num:02X} in {data.hex()}")
        size, at = FIELDS[num], at + 1
        if size is TLV:
            if at >= len(data):
                raise Broken("field 06 without a length")
            size, at = tlv_length(data, at, judge)
        elif size in (LL, LLL):
            digits = data[at : at + len(size)]
            if len(digits) < len(size) or any(d >> 4 != 15 or d & 15 > 9 for d in digits):
                raise Broken(f"field {num:02X}: length {digits.hex()}")
            size, at = int("".join(str(d & 15) for d in digits)), at + len(digits)
        if at + size > len(data):
            raise Broken(f"field {num:02X} is cut short in {data.hex()}")
        value = data[at : at + size]
        found.append((num, parse_tlv(value, judge) if FIELDS[num] is TLV else value))
        at += size
    twice = [n for n, _ in found if [m for m, _ in found].count(n) > 1]
    judge.demand(not twice, f"fields given twice: {bytes(twice).hex()}")
    return found
