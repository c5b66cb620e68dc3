"""Reads retained documents of an MQTT 5 broker over a raw socket, by the standard alone.

subscriber.py HOST PORT TOPIC: prints the first document of the topic and ends.
"""
import socket
import struct
import sys


def text(value):
    data = value.encode()
    return struct.pack(">H", len(data)) + data


def packet(kind, body):
    size, head = len(body), b""
    while True:
        size, seven = divmod(size, 128)
        head += bytes([seven | (128 if size else 0)])
        if not size:
            return bytes([kind]) + head + body


def number(read):
    value, shift = 0, 0
    while True:
        (byte,) = read(1)
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value


def main(host, port, topic):
    with socket.create_connection((host, int(port)), 30) as line:
        def read(count):
            data = b""
            while len(data) < count:
                more = line.recv(count - len(data))
                if not more:
                    sys.exit("the broker has ended the connection")
                data += more
            return data

        def take():
            kind = read(1)[0]
            return kind, read(number(read))

        # Clean start, keep-alive 60 s, no properties.
        line.sendall(packet(0x10, text("MQTT") + b"\x05\x02\x00\x3c\x00" + text("reader")))
        kind, body = take()
        assert (kind, body[1]) == (0x20, 0), body
        line.sendall(packet(0x82, b"\x00\x01\x00" + text(topic) + b"\x00"))
        while True:
            kind, body = take()
            if kind >> 4 == 3:
                break
        length = struct.unpack(">H", body[:2])[0]
        rest = body[2 + length + (2 if kind & 6 else 0):]
        place = iter(range(len(rest)))
        properties = number(lambda _: rest[(at := next(place)):at + 1])
        print("retained" if kind & 1 else "live", rest[next(place) + properties:].decode())


main(*sys.argv[1:])
