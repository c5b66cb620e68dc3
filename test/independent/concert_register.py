"""A register of Concert E+ and of Caisse-AP, written from the protocols alone.

    concert_register.py --pty PATH | --tcp HOST:PORT  [--bare]  AMOUNT ...

Pays each amount (minor units) once and prints one JSON line for each: the state that the terminal
told, and every offence that was seen on the way (docs/concert.md 2.4, 4.7).
"""

import json
import os
import select
import socket
import sys
import termios
import time
import tty

ENQ, ACK, NAK, STX, ETX, EOT = b"\x05", b"\x06", b"\x15", 2, 3, b"\x04"
# On a slow machine nobody is late who would be in time on a fast one.
SLOWNESS = float(os.environ.get("TEST_SLOWNESS", "1"))
ANSWER_SECONDS = 1.0 * SLOWNESS
RESULT_SECONDS = 20.0 * SLOWNESS
REFERENCE = "K-0042    "


class Wire:
    """Bytes of a pseudo-terminal or of a socket, with a limit for every wait."""

    def __init__(self, handle, write, close):
        self.handle, self.write, self.close = handle, write, close

    def read(self, seconds, count=4096):
        ready, _, _ = select.select([self.handle], [], [], seconds)
        return os.read(self.handle, count) if ready else None


def open_pty(path):
    handle = os.open(path, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(handle, termios.TCSANOW)
    return Wire(handle, lambda data: os.write(handle, data), lambda: os.close(handle))


def open_tcp(place):
    host, port = place.rsplit(":", 1)
    line = socket.create_connection((host, int(port)), timeout=5)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Wire(line.fileno(), line.sendall, line.close)


def check_byte(body):
    check = ETX
    for byte in body:
        check ^= byte
    return check


def framed(body):
    return bytes([STX]) + body + bytes([ETX, check_byte(body)])


def pay_in_session(wire, amount):
    """ENQ, ACK, request, ACK, EOT; then ENQ, ACK, reply, ACK, EOT."""
    problems = []

    def expect(what, seconds, name):
        seen = wire.read(seconds, 1)
        if seen != what:
            problems.append("%s: %r" % (name, seen))
        return seen == what

    request = ("01%08d110978%sA010B010" % (amount, REFERENCE)).encode("ascii")
    wire.write(ENQ)
    if not expect(ACK, ANSWER_SECONDS, "answer to ENQ"):
        return {"state": None, "problems": problems}
    wire.write(framed(request))
    if not expect(ACK, ANSWER_SECONDS, "answer to the request"):
        wire.write(EOT)
        return {"state": None, "problems": problems}
    early = wire.read(0.05, 1)
    if early:
        problems.append("the terminal speaks before EOT: %r" % early)
    wire.write(EOT)
    if not expect(ENQ, RESULT_SECONDS, "ENQ of the terminal"):
        return {"state": None, "problems": problems}
    wire.write(ACK)
    reply = wire.read(ANSWER_SECONDS)
    if reply is None or len(reply) != 83:
        problems.append("the reply is no read of 83 bytes: %r" % reply)
        return {"state": None, "problems": problems}
    body = reply[1:-2]
    if reply[0] != STX or reply[-2] != ETX or reply[-1] != check_byte(body):
        problems.append("the frame is wrong")
    wire.write(ACK)
    expect(EOT, ANSWER_SECONDS, "EOT of the terminal")
    text = body.decode("ascii")
    echo = (text[0:2], text[3:11], text[11], text[67:70], text[70:80])
    if echo != ("01", "%08d" % amount, "1", "978", REFERENCE):
        problems.append("the echo differs: %r" % (echo,))
    return {"state": text[2], "problems": problems}


def fields(*pairs):
    return "".join("%s%03d%s" % (tag, len(value), value) for tag, value in pairs).encode("latin-1")


def read_fields(data):
    found, at = {}, 0
    while at < len(data):
        tag, length = data[at : at + 2].decode("latin-1"), int(data[at + 2 : at + 5])
        if tag in found or length == 0 or at + 5 + length > len(data):
            raise ValueError("%s at %d" % (tag, at))
        found[tag] = data[at + 5 : at + 5 + length].decode("latin-1")
        at += 5 + length
    return found


def pay_bare(place, amount):
    """One connection: one message each way."""
    problems = []
    wire = open_tcp(place)
    asked = [("CZ", "0300"), ("CJ", "012345678901"), ("CA", "01"), ("CE", "978")]
    asked += [("BA", "0"), ("CD", "0"), ("CB", "%02d" % amount), ("CF", REFERENCE.strip())]
    wire.write(fields(*asked))
    answer = wire.read(RESULT_SECONDS, 1024)
    more = wire.read(ANSWER_SECONDS)
    wire.close()
    if more:
        problems.append("the answer is no single read: %r more" % more)
    try:
        told = read_fields(answer or b"")
    except ValueError as error:
        return {"state": None, "problems": problems + ["unreadable: %s" % error]}
    for tag, value in asked:
        if tag not in ("CJ", "BA") and told.get(tag) != value:
            problems.append("%s comes back as %r" % (tag, told.get(tag)))
    if told.get("AE") == "10" and not {"AA", "AC", "AI", "CC", "CI"} <= told.keys():
        problems.append("a sale without its card")
    return {"state": told.get("AE"), "reason": told.get("AF"), "problems": problems}


def main(words):
    bare = "--bare" in words
    words = [word for word in words if word != "--bare"]
    way, place, amounts = words[0], words[1], [int(word) for word in words[2:]]
    wire = None if bare else open_pty(place) if way == "--pty" else open_tcp(place)
    for amount in amounts:
        began = time.monotonic()
        seen = pay_bare(place, amount) if bare else pay_in_session(wire, amount)
        seen.update(amount=amount, seconds=round(time.monotonic() - began, 3))
        print(json.dumps(seen), flush=True)


main(sys.argv[1:])
