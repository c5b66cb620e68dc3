"""The two transports of ZVT: TCP, and the serial line with frames and acknowledgements.

Written from the protocol alone.
"""

import os
import select
import termios
import time
import tty

from zvt_wire import Broken

T1, T2, T3, T4 = 0.2, 5.0, 5.0, 180.0
ACK, NAK = 0x06, 0x15


class LinkLost(Exception):
    """The other side is gone, or did not acknowledge three sends of a frame."""


def crc(data):
    """docs/zvt.md 2.3: CRC-16, polynomial 1021 reflected, from zero, no final exclusive-or."""
    value = 0
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x8408 if value & 1 else 0)
    return value


def frame(raw):
    tail = crc(raw + b"\x03").to_bytes(2, "little")
    return b"\x10\x02" + raw.replace(b"\x10", b"\x10\x10") + b"\x10\x03" + tail


def open_line(path):
    """docs/zvt.md 2.1: 9600 baud, eight data bits, no parity, two stop bits, no handshake."""
    fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
    raw_line(fd)
    return fd


def raw_line(fd):
    tty.setraw(fd)
    mode = termios.tcgetattr(fd)
    mode[2] = (mode[2] | termios.CSTOPB | termios.CLOCAL) & ~termios.CRTSCTS
    mode[4] = mode[5] = termios.B9600
    termios.tcsetattr(fd, termios.TCSANOW, mode)


class Link:
    """3: TCP carries bare messages; SerialLink adds what a line needs."""

    def __init__(self, fd, judge):
        self.fd, self.judge, self.ahead = fd, judge, bytearray()

    def byte(self, seconds):
        """The next byte, or None when none came in time."""
        if not self.ahead:
            if not select.select([self.fd], [], [], max(0, seconds))[0]:
                return None
            try:
                got = os.read(self.fd, 4096)
            except OSError as error:
                raise LinkLost(str(error)) from error
            if not got:
                raise LinkLost("closed by the other side")
            self.ahead += got
        return self.ahead.pop(0)

    def write(self, data):
        try:
            while data:
                data = data[os.write(self.fd, data) :]
        except OSError as error:
            raise LinkLost(str(error)) from error

    def send(self, raw):
        self.write(raw)

    def receive(self, seconds):
        """One whole message, or None when it did not begin in time."""
        first = self.byte(seconds)
        if first is None:
            return None
        raw, wanted = bytearray([first]), 3
        while len(raw) < wanted:
            nxt = self.byte(T3)
            if nxt is None:
                raise Broken(f"message stops after {raw.hex()}")
            raw.append(nxt)
            if len(raw) == 3:
                wanted = 3 + raw[2] if raw[2] < 255 else 5
            elif len(raw) == 5 and raw[2] == 255:
                wanted = 5 + int.from_bytes(raw[3:5], "little")
        return bytes(raw)


class SerialLink(Link):
    """2: frames with DLE, a CRC and one byte of acknowledgement, up to two repeats."""

    def __init__(self, fd, judge):
        super().__init__(fd, judge)
        self.waiting, self.fault = [], {}  # fault: nak, mute, corrupt -> how many times
        self.acks = 0  # slowest acknowledgement so far, seconds

    def use(self, fault):
        if self.fault.get(fault, 0) > 0:
            self.fault[fault] -= 1
            return True
        return False

    def send(self, raw):
        for _ in range(3):
            line, hurt = frame(raw), self.use("corrupt")
            self.write(line[:-1] + bytes([line[-1] ^ 1]) if hurt else line)
            answer = self.acknowledgement()
            if answer == ACK:
                self.judge.demand(not hurt, "ACK for a frame with a wrong CRC")
                return
            got = "NAK" if answer else "nothing"
            self.judge.demand(hurt, f"{got} for a good frame {raw.hex()}")
        raise LinkLost("three sends without an ACK")

    def acknowledgement(self):
        sent = time.monotonic()
        while (left := sent + T2 - time.monotonic()) > 0:
            got = self.byte(left)
            if got in (ACK, NAK):
                self.acks = max(self.acks, time.monotonic() - sent)
                return got
            if got == 0x10 and (raw := self.frame_rest()) is not None:
                self.waiting.append(raw)  # docs/zvt.md 2.5: both sides sent at once
            elif got is not None and got != 0x10:
                self.judge.complain(f"byte {got:02X} where an ACK was due")
        return None

    def receive(self, seconds):
        until = time.monotonic() + seconds
        while not self.waiting:
            got = self.byte(until - time.monotonic())
            if got is None:
                return None
            if got != 0x10:
                self.judge.complain(f"byte {got:02X} between frames")
            elif (raw := self.frame_rest()) is not None:
                self.waiting.append(raw)
        return self.waiting.pop(0)

    def frame_rest(self):
        """Behind the first DLE: reads the frame and acknowledges it; None when refused."""
        if self.byte(T1) != 0x02:
            self.judge.complain("DLE without STX between frames")
            return None
        raw, good = bytearray(), True
        while good:
            got = self.byte(T1)
            if got == 0x10:
                got = self.byte(T1)
                if got == 0x03:
                    break
                good = got == 0x10
            good = good and got is not None
            raw.append(got or 0)
        tail = [self.byte(T1) if good else None, self.byte(T1) if good else None]
        good = None not in tail and bytes(tail) == crc(raw + b"\x03").to_bytes(2, "little")
        while not good and self.byte(T1) is not None:
            pass  # the rest of what is broken: NAK only into silence
        if not self.judge.demand(good, f"broken frame, read {raw.hex()}"):
            self.write(bytes([NAK]))
            return None
        if self.use("nak"):
            self.write(bytes([NAK]))
            return self.repeated(raw, T2)
        if self.use("mute"):
            return self.repeated(raw, T2 + 2)
        self.write(bytes([ACK]))
        return bytes(raw)

    def repeated(self, raw, seconds):
        """We refused a good frame on purpose: the very same one must come again."""
        got = self.byte(seconds)
        if not self.judge.demand(got == 0x10, f"no repeat of {raw.hex()} after a refusal"):
            return None
        again = self.frame_rest()
        self.judge.demand(again == bytes(raw), f"another frame instead of a repeat: {again}")
        return again
