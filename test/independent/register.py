"""An independent register: sends every command and is strict about what comes back.

    python3 register.py (--tcp HOST:PORT | --pty PATH) STEP [STEP...]

Each step (see register_steps.py) prints one line of JSON with what was seen and a list of
"problems"; the exit code is 1 when there was any. Written from the protocol alone.
"""

import json
import os
import re
import socket
import sys
import time

import register_steps
from zvt_link import T3, T4, Link, LinkLost, SerialLink, open_line
from zvt_wire import Broken, Judge, apdu, find, number, parse_fields, split_apdu

# docs/zvt.md 7.1
STATUS_ORDER = bytes.fromhex("27040B370C0D0E171922293B494C878A8C9ABA2A3CA0888B06")
SHOWN = set(range(0x00, 0x1E)) | set(range(0x26, 0x2D)) | set(range(0x41, 0x5E)) | set(
    bytes.fromhex("66676869C7C8C9CACBCCD2D3E0E1E2F1F2F3FF")
)  # docs/zvt.md 11.3


class Seen:
    """What one command brought."""

    def __init__(self):
        self.answer, self.end, self.code, self.fields = "", "", None, {}
        self.status, self.statuses, self.lines, self.texts = {}, [], [], []
        self.receipts, self.open, self.rounds, self.abort, self.extra = 0, False, 0, None, {}

    def show(self):
        hexed = {f"{n:02X}": v.hex() for n, v in self.status.items() if isinstance(v, bytes)}
        return {
            "answer": self.answer, "end": self.end, "code": self.code, "status": hexed,
            "statuses": self.statuses, "lines": len(self.lines), "receipts": self.receipts,
            "rounds": self.rounds, "abort": self.abort, **self.extra,
        }


class Register:
    def __init__(self, where, judge):
        self.where, self.judge = where, judge
        self.config, self.container, self.blocks = 0x86, False, False
        self.last, self.booked, self.receipt = {}, {}, 0
        self.pause = 2.0  # 8: between 84 9C and the next 04 0F
        self.connect()

    def connect(self):
        kind, place = self.where
        if kind == "--tcp":
            host, port = place.rsplit(":", 1)
            self.socket = socket.create_connection((host, int(port)), timeout=5)
            self.socket.setblocking(True)
            self.link = Link(self.socket.fileno(), self.judge)
        else:
            self.socket, self.link = None, SerialLink(open_line(place), self.judge)

    def close(self):
        if self.socket:
            self.socket.close()
        else:
            os.close(self.link.fd)

    def next(self, seconds, why):
        raw = self.link.receive(seconds)
        if raw is None:
            raise Broken(f"nothing within {seconds} s, {why}")
        return split_apdu(raw, self.judge)

    def command(self, control, fixed=b"", fields=(), **how):
        """docs/zvt.md 5.2: one command and all that follows until the register is master again.

        how: ends, the controls that give the mastery back; answers, what to say to each
        04 0F in hex ("-" says nothing); abort, send 06 B0 behind the first 04 FF; kind, pay
        or admin, for the receipts; key, the answer carries data; wait, instead of T3.
        """
        stray = self.link.receive(0.02)
        self.judge.demand(stray is None, f"message outside a dialogue: {(stray or b'').hex()}")
        seen, data = Seen(), bytes(fixed)
        for num, value in fields:
            data += bytes([num]) + value
        self.asked = {num for num, _ in fields} | set(how.get("stored", ()))
        self.link.send(apdu(control, data))
        answer, body = self.next(how.get("wait", T3), f"answer to {control:04X} is due")
        seen.answer = f"{answer:04X}{body.hex().upper()}"
        if answer >> 8 == 0x84 and answer != 0x8400:
            return seen
        self.judge.demand(answer == 0x8000, f"{answer:04X} as answer to {control:04X}")
        self.judge.demand(not body or how.get("key"), f"data {body.hex()} in the answer")
        ends = how.get("ends", (0x060F, 0x061E))
        patience, answers, sent = T4, list(how.get("answers", ())), 0.0
        while ends:
            got, body = self.next(patience, f"{control:04X} is running")
            if got >> 8 in (0x80, 0x84) and seen.abort == "":
                seen.abort = f"{got:04X}"
                continue
            patience = self.message(got, body, seen, how) or patience
            say = "800000"
            if got == 0x040F:
                pause = time.monotonic() - sent
                asked_again = sent and seen.status.get(0x27) == b"\0"
                in_time = self.pause - 0.3 < pause < self.pause + 1.5
                text = f"04 0F again after {pause:.1f} s, not {self.pause} s"
                self.judge.demand(in_time or not asked_again, text)
                say = answers.pop(0) if answers else say
                sent = time.monotonic() if say == "849C00" else 0.0
            if say != "-":
                self.link.send(bytes.fromhex(say))
            if got in ends:
                seen.end = f"{got:04X}"
                break
            if how.get("abort") and got == 0x04FF and seen.abort is None:
                seen.abort = ""
                self.link.send(apdu(0x06B0))
        self.judge.demand(not seen.open, "a receipt has no last line")
        return seen

    def message(self, control, data, seen, how):
        """7: what the terminal says as master; gives a new T4 in seconds or None."""
        if control == 0x04FF:
            return self.intermediate(data, seen)
        if control == 0x040F:
            seen.status = self.status(data, how)
            seen.rounds += 1
            self.judge.demand(not seen.lines, "receipt before 04 0F")
        elif control in (0x06D1, 0x06D3):
            wants = self.config & (0x02 if how.get("kind") == "pay" else 0x04)
            self.judge.demand(wants and self.config & 0x80, f"{control:04X} was not ordered")
            self.judge.demand((control == 0x06D3) == self.blocks, f"{control:04X}, not agreed")
            self.block(data, seen) if control == 0x06D3 else self.line(data[0], data[1:], seen)
        elif control == 0x060F:
            seen.fields = data
        elif control == 0x061E:
            seen.code = data[0] if data else None
            self.judge.demand(bool(data), "06 1E without a code")
            seen.fields = data[3:] if seen.code == 0x6F else data[1:]
        else:
            self.judge.complain(f"{control:04X} {data.hex()} was not permitted")
        return None

    def intermediate(self, data, seen):
        self.judge.demand(self.config & 0x08, "04 FF was not ordered")
        self.judge.demand(data[0] in SHOWN, f"intermediate status {data[0]:02X}")
        seen.statuses.append(data[0])
        if len(data) == 1:
            return T4
        minutes, rest = number(data[1:2]), self.fields(data[2:])
        if rest:
            self.judge.demand(list(rest) == [6], "04 FF with fields")
            seen.texts += [v for t, v in find(rest[6], "24") or [] if t == "07"]
        return minutes * 60 or None

    def fields(self, data, order=None):
        found = dict(parse_fields(data, self.judge))
        allowed = self.container or 0x06 in self.asked
        self.judge.demand(0x06 not in found or allowed, "a container nobody asked for")
        self.judge.demand(0x49 not in found or 0x49 in self.asked, "49 was not asked for")
        places = [(order or STATUS_ORDER).find(n) for n in found]
        in_order = places == sorted(places) and -1 not in places
        self.judge.demand(in_order or order == b"", f"order of fields in {data.hex()}")
        return found

    def status(self, data, how):
        found = self.fields(data, how.get("order", STATUS_ORDER))
        for num in set(found) & set(bytes.fromhex("040B0C0D1729374987")):
            number(found[num])
        pan = found.get(0x22, b"").hex().upper()
        self.judge.demand(not pan or "E" in pan, f"card number is not masked: {pan}")
        name = found.get(0x8B, b"")
        self.judge.demand(not name or name[-1] == 0, "card name without its closing zero")
        if 0x0C in found:
            time.strptime(found[0x0C].hex(), "%H%M%S")
        if 0x0D in found:
            time.strptime("2024" + found[0x0D].hex(), "%Y%m%d")
        if how.get("kind") == "pay":
            self.judge.demand(0x27 in found, "04 0F of a payment without a result")
        if 0x60 in found:
            totals = found[0x60]
            self.judge.demand(len(totals) == 53, f"totals have {len(totals)} bytes")
            groups = [totals[4 + 7 * i : 11 + 7 * i] for i in range(7)]
            total = sum(number(g[1:]) for g in groups)
            self.judge.demand(total == number(found[0x04]), f"groups sum up to {total}")
        return found

    def line(self, attribute, text, seen):
        """docs/zvt.md 7.3: one line of a receipt."""
        if attribute == 0xFF:
            self.judge.demand(len(text) == 1, "line feed without a count")
            seen.lines += [""] * (text[0] if text else 1)
            return
        words = text.decode("cp437")
        self.judge.demand(all(b >= 0x20 for b in text), f"control bytes in a line: {text.hex()}")
        clear = re.search(r"(?<![0-9A-F])\d{13}", words)
        self.judge.demand(not clear, f"a card number in clear: {words}")
        seen.lines.append(words)
        seen.open = not (attribute & 0x80 and attribute != 0x80)
        seen.receipts += not seen.open

    def block(self, data, seen):
        content = parse_fields(data, self.judge)
        self.judge.demand([n for n, _ in content] == [6], "06 D3 is not one container")
        objects, attribute = content[0][1], 0
        kind = find(objects, "1F07")
        self.judge.demand(kind in (b"\1", b"\2", b"\3"), f"receipt type {kind}")
        for tag, value in find(objects, "25") or []:
            if tag == "09":
                attribute = value[0]
                if attribute & 0x80 and attribute not in (0x80, 0xFF):
                    seen.open, seen.receipts = False, seen.receipts + 1
            elif self.judge.demand(tag == "07", f"tag {tag} in a print block"):
                self.line(attribute & 0x7F, value, seen)


def main(arguments):
    judge, bad = Judge(), False
    register = Register(arguments[:2], judge)
    for text in arguments[2:]:
        name, *values = text.split(":")
        try:
            out = getattr(register_steps, name.replace("-", "_"))(register, *values) or {}
        except (Broken, LinkLost, ValueError, LookupError) as error:
            judge.complain(f"{type(error).__name__}: {error}")
            out = {}
        found = judge.take()
        bad = bad or bool(found)
        print(json.dumps({"step": text, **out, "problems": found}), flush=True)
    register.close()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
