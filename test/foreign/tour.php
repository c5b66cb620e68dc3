<?php
// A merchant's tour of the gateway with PHP's SoapClient:
//   php tour.php ADDRESS LOGIN PASSWORD WEBSITE
// Prints one JSON object per step.

[, $address, $login, $password, $website] = $argv;
$credentials = ['wsLogin' => $login, 'wsPassword' => $password];

function client(string $wsdl): SoapClient
{
    return new SoapClient($wsdl, ['cache_wsdl' => WSDL_CACHE_NONE, 'exceptions' => true]);
}

function ask(SoapClient $client, string $operation, array $parameters): array
{
    try {
        $answer = $client->__soapCall($operation, [['parameters' => $parameters]]);
        return (array) $answer->{$operation . 'Result'};
    } catch (SoapFault $fault) {
        return ['fault' => $fault->faultcode];
    }
}

function tell(string $step, array $result): void
{
    $flags = JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION;
    echo json_encode(['step' => $step, 'result' => $result], $flags), "\n";
}

/** What the sandbox's operator does: the newest order of a reference is paid; its id comes back. */
function pay(string $address, string $reference): string
{
    $query = http_build_query(['merchantReference' => $reference]);
    $orders = json_decode(file_get_contents("$address/sandbox/orders?$query"), true);
    $id = $orders[0]['transactionPublicId'];
    $post = ['http' => ['method' => 'POST', 'header' => 'Content-Type: application/json',
        'content' => '{}']];
    file_get_contents("$address/sandbox/orders/$id/pay", false, stream_context_create($post));
    return $id;
}

$order = $credentials + [
    'websiteId' => (int) $website,
    'categoryId' => 5,
    'currency' => 'EUR',
    'amount' => 14.39,
    'rating' => 'ALL',
    'locale' => 'fr_FR',
    'customerIpAddress' => '127.0.0.1',
    'executionDate' => date('Y-m-d\TH:i:s'),
    'manualCapture' => true,
    'description' => 'Thé à la menthe & <gâteau>',
    'urlCallback' => 'http://127.0.0.1:9/notify?a=1&b=2',
    'freeData' => ['item' => [['key' => 'table', 'value' => '7'],
        ['key' => 'note', 'value' => 'ça & là']]],
];

$payments = client("$address/soap/payment-v2?wsdl");
tell('generate', ask($payments, 'generate', $order + ['merchantReference' => 'tour-1']));
$wrong = array_merge($order, ['wsPassword' => 'wrong']);
tell('bad password', ask($payments, 'generate', $wrong));
tell('value refused', ask($payments, 'generate', array_merge($order, ['amount' => 0])));

$first = pay($address, 'tour-1');
$transactions = client("$address/soap/transaction-v2?wsdl");
$identity = $credentials + ['transactionPublicId' => $first];
tell('details', ask($transactions, 'getDetails', $identity));
tell('confirm', ask($transactions, 'confirm', $identity));
tell('cancel too late', ask($transactions, 'cancel', $identity));

$refunds = client("$address/soap/refund-v2?wsdl");
$refund = $identity + ['websiteId' => (int) $website];
tell('refund of a part', ask($refunds, 'card', $refund + ['amount' => 4.00]));
tell('refund of the rest', ask($refunds, 'card', $refund));
tell('refund of nothing', ask($refunds, 'card', $refund));

// Three shop modules load the description from the address of the operation.
$payments = client("$address/soap/payment-v2/generate?wsdl");
tell('generate again', ask($payments, 'generate', $order + ['merchantReference' => 'tour-2']));
$second = ['transactionPublicId' => pay($address, 'tour-2')];
$transactions = client("$address/soap/transaction-v2/cancel?wsdl");
tell('cancel', ask($transactions, 'cancel', $credentials + $second));
tell('confirm too late', ask($transactions, 'confirm', $credentials + $second));
$refunds = client("$address/soap/refund-v2/card?wsdl");
tell('refund too early', ask($refunds, 'card',
    $credentials + $second + ['websiteId' => (int) $website]));

$list = file_get_contents("$address/order/list-categories/id/$website");
preg_match_all('~<category id="(\d+)">([^<]*)</category>~', $list, $found, PREG_SET_ORDER);
$categories = [];
foreach ($found as [, $id, $label]) {
    $categories[$id] = html_entity_decode($label, ENT_QUOTES | ENT_XML1);
}
tell('categories', $categories);
