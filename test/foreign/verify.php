<?php
// A merchant's listener in PHP, for PHP's own web server:
//   PASSWORD=... php -S 127.0.0.1:PORT verify.php
// Prints one JSON object per notification; answers 200, or 403 when its digest is wrong.

$document = $_POST['xml'] ?? '';
preg_match('~<md5content>([0-9a-fA-F]{32})</md5content>~', $document, $told);
preg_match('~<result>.*</result>~s', $document, $signed);
$good = isset($told[1], $signed[0])
    && hash_equals(md5($signed[0] . getenv('PASSWORD')), strtolower($told[1]));

$read = ['good' => $good, 'length' => strlen($document)];
foreach (['operation', 'status', 'origAmount', 'idForMerchant', '_aKey_note'] as $name) {
    preg_match("~<$name>([^<]*)</$name>~", $signed[0] ?? '', $found);
    $read[$name] = html_entity_decode($found[1] ?? '', ENT_QUOTES | ENT_XML1, 'UTF-8');
}
file_put_contents('php://stdout', json_encode($read, JSON_UNESCAPED_UNICODE) . "\n");
http_response_code($good ? 200 : 403);
