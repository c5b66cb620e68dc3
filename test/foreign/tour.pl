# A merchant's tour of the gateway with SOAP::Lite:
#   perl tour.pl ADDRESS LOGIN PASSWORD WEBSITE
# Prints one JSON object per step.
use strict;
use warnings;
use utf8;
use HTTP::Tiny;
use JSON::PP;
use POSIX qw(strftime);
use SOAP::Lite;

my ($address, $login, $password, $website) = @ARGV;
my $json = JSON::PP->new->utf8->canonical;
my $http = HTTP::Tiny->new;

# The members of a record, in the order given, as SOAP::Lite wants them.
sub record {
    my @members = @_;
    my @data;
    while (my ($name, $value) = splice @members, 0, 2) {
        my $data = SOAP::Data->name($name => $value);
        # Text beyond ASCII would be sent in base64.
        $data->type('string') if !ref $value && $value =~ /[^ -~]/;
        push @data, $data;
    }
    return \SOAP::Data->value(@data);
}

# The package asks its serializer for each type that a description names.
for my $type (map { "${_}Parameters" } qw(Payment Details Confirm Cancel Card)) {
    no strict 'refs';
    *{"SOAP::Serializer::as_$type"} = sub { [ $_[2], {}, $_[1] ] };
}

my %services;

sub described {
    my ($path) = @_;
    # It makes a class of each service, and says so when it makes it again.
    local $SIG{__WARN__} = sub { warn @_ unless $_[0] =~ /redefined/ };
    return SOAP::Lite->service("$address/soap/$path?wsdl");
}

sub ask {
    my ($path, $operation, @parameters) = @_;
    my $service = $services{$path} //= described($path);
    $service->on_fault(sub { die ref $_[1] ? $_[1]->faultcode : "no answer", "\n" });
    my %sent = (wsLogin => $login, wsPassword => $password, @parameters);
    my $answer = eval { $service->$operation(record(%sent)) };
    return $answer // { fault => $@ };
}

sub tell_step {
    my ($step, $result) = @_;
    print $json->encode({ step => $step, result => $result }), "\n";
}

# What the sandbox's operator does; returns the id of the order.
sub pay {
    my ($reference) = @_;
    my $orders = $http->get("$address/sandbox/orders?merchantReference=$reference");
    my $identity = $json->decode($orders->{content})->[0]{transactionPublicId};
    $http->post("$address/sandbox/orders/$identity/pay",
        { content => '{}', headers => { 'content-type' => 'application/json' } });
    return $identity;
}

my @free_data = map { SOAP::Data->name(item => record(@$_)) }
    ([ key => 'table', value => '7' ], [ key => 'note', value => 'ça & là' ]);
my %order = (
    websiteId         => $website,
    categoryId        => 5,
    currency          => 'EUR',
    amount            => 14.39,
    rating            => 'ALL',
    locale            => 'fr_FR',
    customerIpAddress => '127.0.0.1',
    executionDate     => strftime('%Y-%m-%dT%H:%M:%S', localtime),
    manualCapture     => 'true',
    description       => 'Thé à la menthe & <gâteau>',
    urlCallback       => 'http://127.0.0.1:9/notify?a=1&b=2',
    freeData          => \SOAP::Data->value(@free_data),
);

tell_step('generate', ask('payment-v2', 'generate', %order, merchantReference => 'tour-1'));
tell_step('bad password', ask('payment-v2', 'generate', %order, wsPassword => 'wrong'));
tell_step('value refused', ask('payment-v2', 'generate', %order, amount => 0));

my @first = (transactionPublicId => pay('tour-1'));
tell_step('details', ask('transaction-v2', 'getDetails', @first));
tell_step('confirm', ask('transaction-v2', 'confirm', @first));
tell_step('cancel too late', ask('transaction-v2', 'cancel', @first));

my @refund = (@first, websiteId => $website);
tell_step('refund of a part', ask('refund-v2', 'card', @refund, amount => 4.00));
tell_step('refund of the rest', ask('refund-v2', 'card', @refund));
tell_step('refund of nothing', ask('refund-v2', 'card', @refund));

my @again = (%order, merchantReference => 'tour-2');
tell_step('generate again', ask('payment-v2/generate', 'generate', @again));
my @second = (transactionPublicId => pay('tour-2'));
tell_step('cancel', ask('transaction-v2/cancel', 'cancel', @second));
tell_step('confirm too late', ask('transaction-v2/cancel', 'confirm', @second));
tell_step('refund too early', ask('refund-v2/card', 'card', @second, websiteId => $website));

my $list = $http->get("$address/order/list-categories/id/$website");
utf8::decode(my $text = $list->{content});
my %named = (amp => '&', lt => '<', gt => '>');
my %categories;
while ($text =~ m{<category id="(\d+)">([^<]*)</category>}g) {
    my ($id, $label) = ($1, $2);
    $label =~ s/&(\w+);/$named{$1}/g;
    $categories{$id} = $label;
}
tell_step('categories', \%categories);
