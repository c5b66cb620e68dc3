"""A merchant's tour of the gateway with zeep:

    python3 tour-zeep.py ADDRESS LOGIN PASSWORD WEBSITE

Prints one JSON object per step.
"""

import json
import sys
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree
from datetime import datetime

from zeep import Client
from zeep.exceptions import Fault
from zeep.helpers import serialize_object

address, login, password, website = sys.argv[1:5]
credentials = {"wsLogin": login, "wsPassword": password}


def ask(client, operation, **parameters):
    try:
        answer = client.service[operation](parameters={**credentials, **parameters})
        return serialize_object(answer, dict)
    except Fault as fault:
        return {"fault": fault.code}


def tell(step, result):
    print(json.dumps({"step": step, "result": result}, ensure_ascii=False))


def pay(reference):
    """What the sandbox's operator does; returns the id of the order."""
    query = urllib.parse.urlencode({"merchantReference": reference})
    with urllib.request.urlopen(f"{address}/sandbox/orders?{query}") as answer:
        identity = json.load(answer)[0]["transactionPublicId"]
    request = urllib.request.Request(
        f"{address}/sandbox/orders/{identity}/pay",
        data=b"{}",
        headers={"Content-Type": "application/json"},
    )
    urllib.request.urlopen(request).read()
    return identity


order = {
    "websiteId": int(website),
    "categoryId": 5,
    "currency": "EUR",
    "amount": 14.39,
    "rating": "ALL",
    "locale": "fr_FR",
    "customerIpAddress": "127.0.0.1",
    "executionDate": datetime.now().strftime("%Y-%m-%dT%H:%M:%S"),
    "manualCapture": True,
    "description": "Thé à la menthe & <gâteau>",
    "urlCallback": "http://127.0.0.1:9/notify?a=1&b=2",
    "freeData": {
        "item": [{"key": "table", "value": "7"}, {"key": "note", "value": "ça & là"}]
    },
}

payments = Client(f"{address}/soap/payment-v2?wsdl")
tell("generate", ask(payments, "generate", **order, merchantReference="tour-1"))
tell("bad password", ask(payments, "generate", **{**order, "wsPassword": "wrong"}))
tell("value refused", ask(payments, "generate", **{**order, "amount": 0}))

first = pay("tour-1")
transactions = Client(f"{address}/soap/transaction-v2?wsdl")
tell("details", ask(transactions, "getDetails", transactionPublicId=first))
tell("confirm", ask(transactions, "confirm", transactionPublicId=first))
tell("cancel too late", ask(transactions, "cancel", transactionPublicId=first))

refunds = Client(f"{address}/soap/refund-v2?wsdl")
refund = {"transactionPublicId": first, "websiteId": int(website)}
tell("refund of a part", ask(refunds, "card", **refund, amount=4.00))
tell("refund of the rest", ask(refunds, "card", **refund))
tell("refund of nothing", ask(refunds, "card", **refund))

payments = Client(f"{address}/soap/payment-v2/generate?wsdl")
tell("generate again", ask(payments, "generate", **order, merchantReference="tour-2"))
second = pay("tour-2")
transactions = Client(f"{address}/soap/transaction-v2/cancel?wsdl")
tell("cancel", ask(transactions, "cancel", transactionPublicId=second))
tell("confirm too late", ask(transactions, "confirm", transactionPublicId=second))
refunds = Client(f"{address}/soap/refund-v2/card?wsdl")
early = {"transactionPublicId": second, "websiteId": int(website)}
tell("refund too early", ask(refunds, "card", **early))

with urllib.request.urlopen(f"{address}/order/list-categories/id/{website}") as answer:
    root = ElementTree.parse(answer).getroot()
tell("categories", {item.get("id"): item.text for item in root.iter("category")})
