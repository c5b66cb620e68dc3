"""An independent mock terminal: strict about every byte a register sends.

    python3 terminal.py (--tcp PORT | --pty LINK)

LINK becomes a symbolic link to a pseudo-terminal. Lines of JSON on stdin prepare what comes:
{"next": {...}} one payment (see Dialogue.begin), {"state": "F0"} the status of 11.5, {"ask": 1}
prints the books. Every command, its outcome and every offence of the register is a line of JSON
on stdout. Written from the protocol alone.
"""

import sys
import time

from terminal_dialogue import Dialogue, Drop, Place, say
from terminal_rules import CURES, SUSPENDED, UNLOCKED, check_command
from zvt_link import T3, LinkLost
from zvt_wire import Broken, Judge, apdu, bcd, find, number, split_apdu, tlv


def now():
    """Fields 0C and 0D, time and date without a year."""
    return bytes.fromhex(time.strftime("0c%H%M%S0d%m%d"))


class Terminal(Dialogue):
    def command(self, raw):
        self.listen_to_orders()
        control, data = split_apdu(raw, self.judge)
        fields, fixed = check_command(control, data, self.judge)
        say("command", control=f"{control:04X}", hex=raw.hex())
        self.asked_container = self.container or 0x06 in fields
        self.aborted = False
        if self.state and control not in UNLOCKED and control != CURES.get(self.state):
            self.answer()
            return self.tell(0x061E, bytes([self.state]))
        steps = {
            0x0600: self.register, 0x0501: self.enquiry, 0x0601: self.payment,
            0x0622: self.payment, 0x0631: self.payment, 0x0630: self.reversal,
            0x0623: self.booking, 0x0624: self.booking, 0x0625: self.booking,
            0x0650: self.totals, 0x0610: self.totals, 0x0620: self.repeat,
            0x0618: self.reset, 0x0670: self.simple, 0x0693: self.simple,
            0x0691: self.simple, 0x0679: self.simple, 0x0602: self.quick,
            0x06E0: self.quick, 0x06B0: self.quick, 0x06C0: self.read_card,
        }
        if control not in steps:
            return self.answer("848300")
        return steps[control](control, fixed, fields)

    def register(self, _control, fixed, fields):
        """docs/zvt.md 6.1: password, config byte, currency as two bare bytes."""
        self.config, objects = fixed[3], fields.get(0x06)
        self.container = objects is not None
        permitted = find(objects, "26") or []
        listed = b"".join(v for t, v in permitted if t == "0A")
        commands = [listed[i : i + 2] for i in range(0, len(listed), 2)]
        self.blocks = b"\x06\xd3" in commands
        self.answer()
        body = b"\x19\x10\x29" + bcd(52004711, 4) + b"\x49" + fixed[4:6]
        if self.container:
            body += b"\x06" + bytes([5]) + tlv("12", b"\x24") + b"\x14\x00"
        self.tell(0x060F, body)

    def enquiry(self, _control, _fixed, fields):
        flags = fields.get(0x03, b"\0")[0]
        body = b"" if flags & 2 else b"\xf0\xf0\xf8MOCK 1.0"
        body += bytes([self.state])
        if flags & 4:
            device = [tlv("1F40", b"MOCK"), tlv("1F41", b"1.0"), tlv("1F42", bcd(12345678, 4))]
            objects = tlv("1F44", bcd(52004711, 4)) + tlv("E4", device + [tlv("1F43", b"\0")])
            body += b"\x06" + bytes([len(objects)]) + objects
        self.answer()
        self.tell(0x060F, body)

    def fields_of(self, sale):
        body = b"\x27" + bytes([sale["result"]]) + b"\x04" + bcd(sale["amount"], 6)
        body += b"\x0b" + bcd(sale["trace"], 3) + sale["at"]
        if sale["result"] == 0:
            body += b"\x0e\x28\x12\x22\xf0\xf8\x41\x11\x11\xee\xee\xee\x11\x11"
        body += b"\x29" + bcd(52004711, 4) + (b"\x49\x09\x78" if sale.get("euro") else b"")
        if sale["result"] == 0:
            body += b"\x87" + bcd(sale["receipt"], 2) + b"\x8a\x0a\x8b\xf0\xf5VISA\0"
        return body

    def result(self, sale, issue):
        """8: sends 04 0F and heeds the answer. True: it stands; a number: that much of it."""
        window, rounds = issue
        for done in range(rounds + 1):
            self.link.send(apdu(0x040F, self.fields_of(sale)))
            self.drop("result sent")
            got = self.heard(window)
            say("goods", answer=got and f"{got[0]:04X}{got[1].hex()}")
            if got is None:
                return False
            if got in ((0x8000, b""), (0x8400, b"")):
                return True
            if got[0] == 0x849D and got[1][:1] == b"\x04" and len(got[1]) == 7:
                return number(got[1][1:])
            self.judge.demand(got[0] >> 8 == 0x84, f"{got} as answer to 04 0F")
            if got[0] != 0x849C:
                return False
            self.judge.demand(done < rounds, "84 9C to the last 04 0F")
            time.sleep(self.plan.get("pause", 2))
        return False

    def payment(self, control, _fixed, fields):
        if not self.begin():
            return
        amount, euro = number(fields[0x04]), 0x49 in fields
        self.trace += 1
        code = self.plan.get("result", 0)
        sale = {"result": code, "amount": amount, "trace": self.trace, "euro": euro, "at": now()}
        if not self.card():
            code = sale["result"] = 0x6C
        if code:
            self.tell(0x040F, self.fields_of(sale))
            self.last = sale
            say("outcome", paid=False, code=code)
            return self.tell(0x061E, bytes([code]))
        self.receipt += 1
        sale["receipt"] = self.receipt
        issue = (T3, 0)
        if control == 0x0601:
            issue = (fields[0x01][0], fields[0x02][0])
        place = self.reserved if control == 0x0622 else self.sales
        try:
            stands = self.result(sale, issue)
            if stands is True:
                self.drop("result answered")
                self.receipts(0x02, sale)
            elif stands:
                sale["amount"] = stands
        except (Drop, LinkLost):
            if self.plan.get("keep") or self.plan.get("drop") == "before end":
                place[self.receipt], self.last = amount, sale
            say("outcome", paid=self.receipt in place, receipt=self.receipt)
            raise
        if stands is False:
            sale["result"] = 0x6C
            self.tell(0x040F, self.fields_of(sale))
            say("outcome", paid=False, code=0x6C)
            return self.tell(0x061E, b"\x6c")
        place[self.receipt] = -amount if control == 0x0631 else sale["amount"]
        self.last = sale
        say("outcome", paid=True, receipt=self.receipt, amount=sale["amount"])
        self.drop("before end")
        self.tell(0x060F)

    def reversal(self, _control, _fixed, fields):
        if not self.begin():
            return
        mine, amount = number(fields[0x87]), number(fields.get(0x04, b"\0"))
        code = 0 if self.sales.get(mine) == amount else 0xB5
        code = self.plan.get("result", code)
        if not code:
            self.trace += 1
            sale = {"result": 0, "amount": amount, "trace": self.trace, "receipt": mine}
            sale["at"] = now()
            got = self.tell(0x040F, self.fields_of({**sale, "euro": 0x49 in fields}))
            self.judge.demand(got == (0x8000, b""), f"{got} to 04 0F of a reversal")
            self.receipts(0x02, sale)
            del self.sales[mine]
            self.last = sale
        say("reversal", receipt=mine, code=code)
        self.tell(0x061E, bytes([code])) if code else self.tell(0x060F)

    def booking(self, control, _fixed, fields):
        self.answer()
        if fields.get(0x87) == b"\xff\xff":
            opened = [tlv("08", bcd(r, 2)) for r in self.reserved]
            first = bcd(min(self.reserved), 2) if opened else b"\xff\xff"
            listing = tlv("23", opened) if self.asked_container else b""
            body = b"\xb8\x87" + first + (b"\x06" + bytes([len(listing)]) + listing)
            return self.tell(0x061E, body if listing else body[:-2])
        mine, amount = number(fields[0x87]), number(fields[0x04])
        held = self.reserved.pop(mine, None)
        if held is None or amount > held:
            return self.tell(0x061E, b"\xb7")
        used = {0x0623: held - amount, 0x0624: amount}.get(control, 0)
        sale = {"result": 0, "amount": amount, "trace": self.trace, "receipt": mine, "at": now()}
        self.tell(0x040F, self.fields_of(sale))
        if used:
            self.sales[mine] = used
        self.tell(0x060F)

    def totals(self, control, _fixed, _fields):
        if control == 0x0650 and not self.begin():
            return
        if control == 0x0610:
            self.answer()
        if control == 0x0650 and self.plan.get("result"):
            return self.tell(0x061E, bytes([self.plan["result"]]))
        count, total = len(self.sales), sum(self.sales.values())
        ends = bcd(min(self.sales, default=0), 2) + bcd(max(self.sales, default=0), 2)
        groups = bytes(28) + bytes([count]) + bcd(total, 6) + bytes(14)
        body = b"\x27\x00\x04" + bcd(total, 6) + b"\x60\xf0\xf5\xf3" + ends + groups
        self.tell(0x040F, body + b"\x0b" + bcd(self.trace, 3) + now())
        self.receipts(0x04, {"amount": total})
        if control == 0x0650:
            self.sales, self.state = {}, 0
        self.tell(0x060F)

    def repeat(self, _control, _fixed, fields):
        flags = fields.get(0x03, b"\0")[0]
        if not self.last:
            return self.answer("848300")
        self.answer()
        if flags & 1:
            self.tell(0x040F, self.fields_of(self.last))
        if not flags & 2:
            self.receipts(0x02, self.last)
        self.tell(0x060F)

    def simple(self, control, _fixed, _fields):
        self.answer()
        if CURES.get(self.state) == control:
            self.state = 0
        self.receipts(0x04, {})
        self.tell(0x060F)

    def quick(self, control, _fixed, _fields):
        self.answer()
        if control == 0x0602:
            self.config, self.container, self.blocks = 0x86, False, False

    def read_card(self, _control, _fixed, _fields):
        self.answer()
        self.tell(0x040F, b"\x27\x6c")

    def reset(self, control, _fixed, _fields):
        self.simple(control, None, None)
        raise Drop(SUSPENDED)


def main(kind, where):
    judge = Judge(lambda text: say("problem", text=text))
    place, terminal = Place(kind, where, judge), Terminal(judge)
    opened = place.open(terminal.listen_to_orders) if kind == "--pty" else None
    say("listening", at=place.name())
    while True:
        terminal.link = opened or place.open(terminal.listen_to_orders)
        opened, away = None, 0.0
        try:
            while True:
                terminal.listen_to_orders()
                raw = terminal.link.receive(0.05)
                if raw is not None:
                    terminal.command(raw)
        except Drop as drop:
            away = float(str(drop))
        except LinkLost as lost:
            say("lost", why=str(lost))
        except Broken as broken:
            judge.complain(str(broken))
        place.close()
        time.sleep(away)


if __name__ == "__main__":
    main(*sys.argv[1:3])
