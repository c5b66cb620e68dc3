"""What the independent register can do: one function for each step of its command line.

A step sends one command (docs/zvt.md 6.1 to 6.8), checks what is peculiar to
it and gives what was seen. Arguments are text, split at the colons of the command line.
"""

import time

from zvt_link import LinkLost
from zvt_wire import Broken, apdu, bcd, find, number, parse_tlv, tlv, tlv_length

PASSWORD, EURO = bcd(0, 3), bcd(978, 2)
PAYMENT_TYPE = b"\x40"
TOTALS_ORDER = bytes.fromhex("2704600B0C0D06")  # docs/zvt.md 6.4, end of day
CARD_ORDER = bytes.fromhex("272D2324A72E06")  # docs/zvt.md 6.7
REGISTERED_ORDER = bytes.fromhex("19294906")  # docs/zvt.md 6.1


def container(*objects):
    body = b"".join(objects)
    return (0x06, bytes([len(body)]) + body)


def registration(reg, config="BE", blocks=""):
    """docs/zvt.md 6.1. blocks: D3 permits 06 D3; 06 only switches the container on.

    With nothing neither holds.
    """
    reg.config, reg.container, reg.blocks = int(config, 16), blocks != "", blocks == "D3"
    objects = [tlv("26", [tlv("0A", b"\x06\xd3")])] if reg.blocks else []
    fields = [container(*objects)] if blocks else []
    seen = reg.command(0x0600, PASSWORD + bytes([reg.config]) + EURO, fields)
    reg.asked.add(0x49)  # the currency is one of the bare bytes in front
    reg.config = reg.config if seen.end == "060F" else 0x86
    if not seen.end:
        reg.judge.complain(f"registration was answered {seen.answer}")
        return seen.show()
    found = reg.fields(seen.fields, REGISTERED_ORDER)
    reg.judge.demand(seen.end == "060F", f"registration ended with {seen.end}")
    seen.extra = {"tid": found.get(0x29, b"").hex(), "ready": found.get(0x19, b"").hex()}
    return seen.show()


def status(reg, service=""):
    """docs/zvt.md 6.5: every service byte; '' without password, 'pw' without 03."""
    fixed = b"" if service == "" else PASSWORD
    flags = int(service, 16) if service not in ("", "pw") else 0
    fields = [(0x03, bytes([flags]))] if service not in ("", "pw") else []
    seen = reg.command(0x0501, fixed, fields)
    reg.judge.demand(seen.end == "060F", f"status enquiry ended with {seen.end}")
    version, state, objects = version_and_status(seen.fields, reg.judge)
    reg.judge.demand((version is None) == bool(flags & 2), f"version {version}, asked {service}")
    reg.judge.demand((objects is not None) == bool(flags & 4), f"container, asked {service}")
    serial = find(objects, "E4/1F42")
    tid = find(objects, "1F44")
    seen.extra = {"version": version, "state": state, "serial": serial and serial.hex()}
    seen.extra["tid"] = tid and tid.hex()
    return seen.show()


def version_and_status(data, judge):
    """docs/zvt.md 6.5: [LLLVAR version] status [06 container], positional."""
    version = None
    if data and data[0] >> 4 == 15:
        size = int("".join(str(d & 15) for d in data[:3]))
        version, data = data[3 : 3 + size].decode("ascii"), data[3 + size :]
    objects, rest = None, data[1:]
    if rest:
        judge.demand(rest[0] == 6, f"status enquiry: {rest.hex()} behind the status")
        size, at = tlv_length(rest, 1, judge)
        judge.demand(at + size == len(rest), "status enquiry: wrong length of the container")
        objects = parse_tlv(rest[at:], judge)
    return version, data[0], objects


def outcome(reg, seen, amounts, undelivered=False):
    """docs/zvt.md 6.2: 04 0F and the end must tell the same, and the sum is the ordered one."""
    demand, got = reg.judge.demand, seen.status
    if not seen.end:
        return seen.show()
    result = got.get(0x27, b"\xff")[0]
    if seen.end == "060F":
        demand(result == 0, f"06 0F after result {result:02X}")
        demand(got.get(0x04, b"").hex() in {bcd(a, 6).hex() for a in amounts}, f"amount in {got}")
        demand({0x87, 0x0B, 0x0C, 0x0D, 0x29} <= set(got), f"04 0F lacks fields: {list(got)}")
        demand(not seen.fields, f"06 0F of a payment carries {seen.fields.hex()}")
        wanted = reg.config & 0x82 == 0x82
        demand(not wanted or seen.receipts, "no receipt came")
        reg.last = got
    else:
        same = not got or result == seen.code or undelivered
        demand(same, f"04 0F says {result:02X}, 06 1E {(seen.code or 0):02X}")
    return seen.show()


def new_receipt(reg, seen):
    if seen.end == "060F":
        mine = number(seen.status[0x87])
        fresh = mine > reg.receipt or reg.receipt == 9999
        reg.judge.demand(fresh, f"receipt {mine} after {reg.receipt}")
        reg.receipt = mine
    return seen.end == "060F"


def pay(reg, amount, answers="", window="30", **how):
    """docs/zvt.md 6.2, 8.1: answers are what to say to each 04 0F, in hex, with commas."""
    parts = [a for a in answers.split(",") if a]
    fields = [(0x04, bcd(amount, 6)), (0x49, EURO), (0x19, PAYMENT_TYPE)]
    fields += [(0x01, bytes([int(window)])), (0x02, b"\x03")]
    seen = reg.command(0x0601, b"", fields, kind="pay", answers=parts, **how)
    amounts = [amount] + [p[8:].lstrip("0") for p in parts if p.startswith("849D")]
    shown = outcome(reg, seen, amounts, bool(parts))
    if new_receipt(reg, seen):
        reg.booked[reg.receipt] = int(amounts[-1])
    return shown


def pay_short(reg, amount):
    """Only the amount: without a currency in the request there is none in 04 0F."""
    seen = reg.command(0x0601, b"", [(0x04, bcd(amount, 6))], kind="pay")
    shown = outcome(reg, seen, [amount])
    if new_receipt(reg, seen):
        reg.booked[reg.receipt] = number(seen.status[0x04])
    return shown


def pay_abort(reg, amount):
    """docs/zvt.md 6.6: the answer to 06 B0 settles nothing; the payment's own end does."""
    return pay(reg, amount, abort=True)


def reversal(reg, receipt="last", amount=""):
    mine = reg.receipt if receipt == "last" else int(receipt)
    amount = amount or reg.booked.get(mine, 0)
    fields = [(0x87, bcd(mine, 2)), (0x04, bcd(amount, 6)), (0x49, EURO)]
    seen = reg.command(0x0630, PASSWORD, fields, kind="pay")
    shown = outcome(reg, seen, [amount])
    if seen.end == "060F":
        reg.judge.demand(reg.booked.pop(mine, None), f"reversed {mine}, which was not booked")
        reg.receipt = max(reg.receipt, number(seen.status[0x87]))
    return shown


def refund(reg, amount):
    fields = [(0x04, bcd(amount, 6)), (0x49, EURO)]
    seen = reg.command(0x0631, PASSWORD, fields, kind="pay")
    shown = outcome(reg, seen, [amount])
    new_receipt(reg, seen)
    return shown


def preauth(reg, amount):
    fields = [(0x04, bcd(amount, 6)), (0x49, EURO), (0x19, PAYMENT_TYPE)]
    seen = reg.command(0x0622, b"", fields, kind="pay")
    shown = outcome(reg, seen, [amount])
    new_receipt(reg, seen)
    return shown


def settle(reg, control, amount, receipt):
    mine = reg.receipt if receipt == "last" else int(receipt)
    fields = [(0x87, bcd(mine, 2)), (0x04, bcd(amount, 6)), (0x49, EURO)]
    seen = reg.command(control, b"", fields, kind="pay")
    shown = seen.show()
    if seen.end == "060F":
        reg.judge.demand(seen.status.get(0x27) == b"\0", f"booking: {seen.status}")
        reg.receipt = max(reg.receipt, number(seen.status.get(0x87, b"\0\0")))
        reg.last = seen.status
    return shown


def book_total(reg, used, receipt="last"):
    return settle(reg, 0x0624, used, receipt)


def partial_reversal(reg, unused, receipt="last"):
    return settle(reg, 0x0623, unused, receipt)


def preauth_reversal(reg, amount, receipt="last"):
    return settle(reg, 0x0625, amount, receipt)


def open_preauths(reg):
    """docs/zvt.md 6.3: the abort with B8 is the normal answer."""
    seen = reg.command(0x0623, b"", [(0x87, b"\xff\xff")], ends=(0x061E,), kind="pay")
    found = reg.fields(seen.fields, b"\x87\x06")
    reg.judge.demand(seen.code == 0xB8, f"open pre-authorisations ended with {seen.code}")
    listed = [v.hex() for t, v in find(found.get(6), "23") or [] if t == "08"]
    first = found.get(0x87, b"\xff\xff").hex()
    seen.extra = {"open": sorted({first, *listed} - {"ffff"})}
    return seen.show()


def totals(reg, control, check):
    seen = reg.command(control, PASSWORD, order=TOTALS_ORDER)
    if seen.end == "060F" and check:
        total = number(seen.status[0x04])
        mine = sum(reg.booked.values())
        reg.judge.demand(total == mine, f"total is {total}, the register booked {mine}")
    wanted = reg.config & 0x84 == 0x84
    reg.judge.demand(not wanted or seen.receipts or not seen.end, "no receipt came")
    return seen


def turnover(reg, check=""):
    return totals(reg, 0x0610, check).show()


def end_of_day(reg, check=""):
    seen = totals(reg, 0x0650, check)
    if seen.end == "060F":
        reg.booked = {}
    return seen.show()


def repeat(reg, service="03"):
    """docs/zvt.md 6.4: 01 with 04 0F, 02 prints nothing, 03 both: the recovery form."""
    flags = int(service, 16)
    fields = [(0x03, bytes([flags]))] if flags else []
    how = {"kind": "pay", "stored": [0x49]}  # 49 as the repeated payment had it
    seen = reg.command(0x0620, PASSWORD, fields, **how)
    if seen.end == "060F":
        reg.judge.demand(bool(seen.status) == bool(flags & 1), f"04 0F with service {service}")
        printed = bool(seen.receipts) == (not flags & 2 and reg.config & 0x82 == 0x82)
        reg.judge.demand(printed, f"{seen.receipts} receipts with service {service}")
        for num in set(seen.status) & set(reg.last) - {0x06, 0x49}:
            same = seen.status[num] == reg.last[num]
            reg.judge.demand(same, f"field {num:02X} of the repeat differs")
    return seen.show()


def diagnosis(reg, kind=""):
    fields = [container(tlv("1B", bytes.fromhex(kind)))] if kind else []
    return reg.command(0x0670, b"", fields).show()


def initialisation(reg):
    return reg.command(0x0693, PASSWORD).show()


def clock(reg, date="261121", hour="101500"):
    fields = [(0xAA, bytes.fromhex(date)), (0x0C, bytes.fromhex(hour))]
    return reg.command(0x0691, PASSWORD, fields).show()


def display(reg, text, seconds="1"):
    words = text.encode("ascii")
    line = bytes([0xF0 + len(words) // 10, 0xF0 + len(words) % 10]) + words
    fields = [(0xF0, bytes([int(seconds)])), (0xF1, line), (0xF9, b"\x01")]
    return reg.command(0x06E0, b"", fields, ends=()).show()


def ask_key(reg, text, seconds="1"):
    """docs/zvt.md 6.8: the answer 80 00 01 carries the key, 6C when none was pressed."""
    words = text.encode("ascii")
    line = bytes([0xF0 + len(words) // 10, 0xF0 + len(words) % 10]) + words
    fields = [(0xF0, bytes([int(seconds)])), (0xF1, line)]
    wait = int(seconds) + 5
    seen = reg.command(0x06E1, b"", fields, ends=(), key=True, wait=wait)
    good = seen.answer[:4] != "8000" or len(seen.answer) == 6
    reg.judge.demand(good, f"answer to 06 E1: {seen.answer}")
    return seen.show()


def read_card(reg, seconds="5"):
    """docs/zvt.md 6.7: ends with 04 0F, there is no 06 0F."""
    fields, how = [(0x19, b"\x50")], {"ends": (0x040F,), "order": CARD_ORDER}
    seen = reg.command(0x06C0, bytes([int(seconds)]), fields, **how)
    tracks = seen.status.get(0x23, b"").hex()
    reg.judge.demand(not tracks or "e" in tracks, f"track 2 is not masked: {tracks}")
    return seen.show()


def abort(reg):
    return reg.command(0x06B0, ends=()).show()


def log_off(reg):
    seen = reg.command(0x0602, ends=())
    reg.config, reg.container, reg.blocks = 0x86, False, False
    return seen.show()


def selftest(reg):
    return reg.command(0x0679).show()


def unknown(reg, control="067F"):
    seen = reg.command(int(control, 16))
    reg.judge.demand(seen.answer == "8483", f"unknown command was answered {seen.answer}")
    return seen.show()


def reset(reg, limit="40"):
    """docs/zvt.md 6.4: 80 00, 06 0F, then the terminal restarts and answers nothing for a while."""
    seen = reg.command(0x0618)
    try:
        reg.link.receive(5)  # the line is lost when the terminal goes down
    except (OSError, LinkLost):
        pass
    reg.close()
    until = time.monotonic() + int(limit)
    while time.monotonic() < until:
        time.sleep(0.5)
        try:
            reg.connect()
            state = reg.command(0x0501, PASSWORD, [(0x03, b"\x06")])
            reg.judge.take()  # what a restarting terminal says is no offence
            if state.end == "060F":
                return seen.show()
        except (OSError, LinkLost, Broken):
            continue
    raise Broken("the terminal did not come back")


def reconnect(reg):
    reg.close()
    time.sleep(0.2)
    reg.connect()


def pace(reg, seconds):
    """How long this terminal pauses before it repeats 04 0F; real ones take two seconds."""
    reg.pause = float(seconds)


def fault(reg, kind, count="1"):
    """docs/zvt.md 2.4: nak, mute or corrupt the next frames; only a serial line has them."""
    reg.link.fault[kind] = int(count)


def raw(reg, data):
    """Sends bytes as they are; what comes back is shown, not judged."""
    reg.link.write(bytes.fromhex(data))
    got = reg.link.receive(1)
    return {"got": got and got.hex()}


def extended(reg):
    """docs/zvt.md 4.1: a reader takes the long length form for short data too."""
    reg.link.send(b"\x05\x01\xff\x00\x00")
    answer, _ = reg.next(5, "answer to a long length form")
    end, _ = reg.next(5, "completion")
    reg.link.send(apdu(0x8000))
    return {"answer": f"{answer:04X}", "end": f"{end:04X}"}
