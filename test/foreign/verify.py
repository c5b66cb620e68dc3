"""A merchant's listener in Python: python3 verify.py PORT, the password in PASSWORD.

Prints one JSON object per notification; answers 200, or 403 when its digest is wrong. Beside the
bytes as they came it checks them as libxml2 writes them again, which is what some shops do.
"""

import hashlib
import hmac
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs

from lxml import etree

SECRET = os.environ["PASSWORD"].encode()
NAMES = ("operation", "status", "origAmount", "idForMerchant", "_aKey_note")


def digest(signed):
    return hashlib.md5(signed + SECRET).hexdigest()


class Listener(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode("ascii")
        # The digest is of bytes: latin-1 gives each byte back as it came.
        document = parse_qs(body, encoding="latin-1")["xml"][0].encode("latin-1")
        start, end = document.index(b"<result>"), document.rindex(b"</result>")
        root = etree.fromstring(document)
        told = root.findtext("md5content")
        good = hmac.compare_digest(digest(document[start : end + 9]), told)
        result = root.find("result")
        again = etree.tostring(result, encoding="utf-8", with_tail=False)
        read = {"good": good, "again": digest(again) == told, "length": len(document)}
        for name in NAMES:
            read[name] = next((found.text or "" for found in result.iter(name)), "")
        print(json.dumps(read, ensure_ascii=False), flush=True)
        self.send_response(200 if good else 403)
        self.end_headers()

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", int(sys.argv[1])), Listener).serve_forever()
