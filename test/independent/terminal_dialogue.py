"""The terminal's side of one dialogue, and the place where it is reached."""

import json
import os
import select
import socket
import sys
import time

from terminal_rules import check_command
from zvt_link import T3, Link, SerialLink, raw_line
from zvt_wire import apdu, split_apdu, tlv


class Drop(Exception):
    """The link goes away now, for so many seconds."""


def say(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


class Dialogue:
    """State of the terminal, and how it talks while it is master."""

    def __init__(self, judge):
        self.judge, self.link, self.plans, self.state = judge, None, [], 0
        self.config, self.blocks, self.container = 0x86, False, False
        self.receipt, self.trace, self.last = 41, 700, {}
        self.sales, self.reserved, self.plan, self.orders = {}, {}, {}, b""

    def listen_to_orders(self):
        """Orders of the test, from stdin; its end is the end of this process."""
        while select.select([0], [], [], 0)[0]:
            got = os.read(0, 4096)
            if not got:
                sys.exit(0)
            self.orders += got
        while b"\n" in self.orders:
            line, self.orders = self.orders.split(b"\n", 1)
            order = json.loads(line)
            if "next" in order:
                self.plans.append(order["next"])
            self.state = int(order["state"], 16) if "state" in order else self.state
            if "ask" in order:
                open_ones = list(self.reserved)
                say("books", sales=self.sales, reserved=open_ones)

    # -- one dialogue ---------------------------------------------------------------------

    def answer(self, text="800000"):
        self.link.send(bytes.fromhex(text))

    def tell(self, control, data=b"", wait=T3):
        """docs/zvt.md 5.2: one message as master; the register must say 80 00 00, in time."""
        self.link.send(apdu(control, data))
        got = self.heard(wait)
        if got is None:
            self.judge.complain(f"no answer to {control:04X} within {wait} s")
            return None
        if control != 0x040F:
            self.judge.demand(got == (0x8000, b""), f"{got} as answer to {control:04X}")
        return got

    def heard(self, wait):
        """The next answer; an abort that crosses our message is noted and answered."""
        until = time.monotonic() + wait
        while (raw := self.link.receive(max(0, until - time.monotonic()))) is not None:
            control, data = split_apdu(raw, self.judge)
            if control == 0x06B0:
                self.abort(data)
            elif self.judge.demand(control >> 8 in (0x80, 0x84), f"{control:04X} while busy"):
                return control, data
        return None

    def abort(self, data):
        check_command(0x06B0, data, self.judge)
        say("abort")
        self.aborted = not self.plan.get("deaf")
        self.answer("800000" if self.aborted else "848300")

    def drop(self, place):
        if self.plan.get("drop") == place:
            raise Drop(self.plan.get("away", 1))

    def begin(self):
        """Plans: refuse, result, wait (until abort), seconds, pause, deaf, late, drop, away, keep,
        minutes (of T4 in each 04 FF), fault (of the serial link)."""
        self.plan = self.plans.pop(0) if self.plans else {}
        if isinstance(self.link, SerialLink):
            self.link.fault.update(self.plan.get("fault", {}))
        self.drop("before answer")
        if "refuse" in self.plan:
            self.answer(f"84{self.plan['refuse']}00")
            return False
        self.answer()
        self.drop("after answer")
        return True

    def card(self):
        """Waits for the customer; False when the register's abort was obeyed."""
        self.status(0x0A)
        limit = 60 if self.plan.get("wait") else self.plan.get("seconds", 0)
        until = time.monotonic() + limit
        while time.monotonic() < until and not self.aborted:
            raw = self.link.receive(0.1)
            if raw is not None:
                control, data = split_apdu(raw, self.judge)
                self.judge.demand(control == 0x06B0, f"{control:04X} while a card is awaited")
                self.abort(data)
        if self.aborted and not self.plan.get("late"):
            return False
        self.status(0x0E)
        self.drop("before result")
        return True

    def status(self, code):
        if self.config & 0x08:
            self.tell(0x04FF, bytes([code, *self.plan.get("minutes", [])]))

    def receipts(self, bit, sale):
        """docs/zvt.md 7.3: one receipt, in blocks or in lines, where the register prints."""
        if not self.config & bit or not self.config & 0x80:
            return
        texts = [b"HAENDLERBELEG", f"SUMME {sale.get('amount', 0)}".encode("ascii"), b"DANKE"]
        if self.blocks:
            kind = tlv("1F07", b"\x01" if bit == 0x02 else b"\x03")
            lines = [tlv("09", b"\x40"), *[tlv("07", t) for t in texts], tlv("09", b"\x81")]
            body = kind + tlv("25", lines)
            self.tell(0x06D3, b"\x06" + bytes([len(body)]) + body)
            return
        for text in texts:
            self.tell(0x06D1, b"\x00" + text)
        self.tell(0x06D1, b"\x81")


class Place:
    """Where the terminal is reached: a listening socket or a pseudo-terminal."""

    def __init__(self, kind, where, judge):
        self.kind, self.where, self.judge, self.fd = kind, where, judge, None
        self.server = socket.create_server(("127.0.0.1", int(where))) if kind == "--tcp" else None

    def open(self, poll):
        if self.server:
            while not select.select([self.server], [], [], 0.1)[0]:
                poll()
            self.socket, _ = self.server.accept()
            return Link(self.socket.fileno(), self.judge)
        self.fd, self.slave = os.openpty()
        raw_line(self.slave)
        os.symlink(os.ttyname(self.slave), self.where)
        return SerialLink(self.fd, self.judge)

    def close(self):
        if self.server:
            self.socket.close()
        else:
            os.unlink(self.where)
            os.close(self.slave)
            os.close(self.fd)

    def name(self):
        return self.server.getsockname()[1] if self.server else self.where
