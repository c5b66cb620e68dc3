# A merchant's listener in Perl: perl verify.pl PORT, the password in PASSWORD.
# Prints one JSON object per notification; answers 200, or 403 when its digest is wrong.
use strict;
use warnings;
use Digest::MD5 qw(md5_hex);
use Encode qw(decode);
use IO::Socket::INET;
use JSON::PP;

my ($port) = @ARGV;
my %named = (amp => '&', lt => '<', gt => '>');
my $server = IO::Socket::INET->new(
    LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 5, ReuseAddr => 1,
) or die "port $port: $@\n";
$| = 1;

while (my $client = $server->accept) {
    my $length = 0;
    while (defined(my $line = <$client>)) {
        $length = $1 if $line =~ /^content-length:\s*(\d+)/i;
        last if $line =~ /^\r?\n$/;
    }
    read $client, my $body, $length;
    my ($document) = $body =~ /(?:^|&)xml=([^&]*)/;
    next if !defined $document;
    $document =~ tr/+/ /;
    $document =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
    my ($told) = $document =~ m{<md5content>([0-9A-Fa-f]{32})</md5content>};
    my ($signed) = $document =~ m{(<result>.*</result>)}s;
    my $good = md5_hex($signed . $ENV{PASSWORD}) eq lc $told;
    my %read = (good => $good ? JSON::PP::true : JSON::PP::false, length => length $document);
    for my $name (qw(operation status origAmount idForMerchant _aKey_note)) {
        my ($text) = $signed =~ m{<$name>([^<]*)</$name>};
        $text = decode('UTF-8', $text // '');
        $text =~ s/&(\w+);/$named{$1}/g;
        $read{$name} = $text;
    }
    print JSON::PP->new->utf8->encode(\%read), "\n";
    my $status = $good ? '200 OK' : '403 Forbidden';
    print $client "HTTP/1.1 $status\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    close $client;
}
