"""A merchant's tour of the gateway with suds:

    python3 tour-suds.py ADDRESS LOGIN PASSWORD WEBSITE

Prints one JSON object per step.
"""

import json
import sys
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree
from datetime import datetime

from suds import WebFault
from suds.client import Client

address, login, password, website = sys.argv[1:5]


def filled(client, type_name, values):
    """An object of the description's type with these members."""
    parameters = client.factory.create(f"ns0:{type_name}")
    parameters.wsLogin = login
    parameters.wsPassword = password
    for name, value in values.items():
        setattr(parameters, name, value)
    return parameters


def ask(client, operation, type_name, **values):
    try:
        answer = getattr(client.service, operation)(filled(client, type_name, values))
    except WebFault as fault:
        return {"fault": str(fault.fault.faultcode)}
    return {
        name: value if value is None or isinstance(value, (int, float)) else str(value)
        for name, value in Client.dict(answer).items()
    }


def tell(step, result):
    print(json.dumps({"step": step, "result": result}, ensure_ascii=False))


def load(path):
    return Client(f"{address}/soap/{path}?wsdl", cache=None)


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


def generate(client, **changes):
    free_data = client.factory.create("ns0:ArrayOfDatawrapper")
    for key, value in (("table", "7"), ("note", "ça & là")):
        item = client.factory.create("ns0:DataWrapper")
        item.key, item.value = key, value
        free_data.item.append(item)
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
        "freeData": free_data,
    }
    return ask(client, "generate", "PaymentParameters", **{**order, **changes})


payments = load("payment-v2")
tell("generate", generate(payments, merchantReference="tour-1"))
tell("bad password", generate(payments, wsPassword="wrong"))
tell("value refused", generate(payments, amount=0))

first = {"transactionPublicId": pay("tour-1")}
transactions = load("transaction-v2")
tell("details", ask(transactions, "getDetails", "DetailsParameters", **first))
tell("confirm", ask(transactions, "confirm", "ConfirmParameters", **first))
tell("cancel too late", ask(transactions, "cancel", "CancelParameters", **first))

refunds = load("refund-v2")
refund = {**first, "websiteId": int(website)}
tell("refund of a part", ask(refunds, "card", "CardParameters", **refund, amount=4.00))
tell("refund of the rest", ask(refunds, "card", "CardParameters", **refund))
tell("refund of nothing", ask(refunds, "card", "CardParameters", **refund))

tell("generate again", generate(load("payment-v2/generate"), merchantReference="tour-2"))
second = {"transactionPublicId": pay("tour-2")}
transactions = load("transaction-v2/cancel")
tell("cancel", ask(transactions, "cancel", "CancelParameters", **second))
tell("confirm too late", ask(transactions, "confirm", "ConfirmParameters", **second))
refunds = load("refund-v2/card")
early = {**second, "websiteId": int(website)}
tell("refund too early", ask(refunds, "card", "CardParameters", **early))

with urllib.request.urlopen(f"{address}/order/list-categories/id/{website}") as answer:
    root = ElementTree.parse(answer).getroot()
tell("categories", {item.get("id"): item.text for item in root.iter("category")})
