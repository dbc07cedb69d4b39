#!/bin/sh
# Who gets in: requests that two readers could read in two ways, names and pages that are not known, too many
# connections of one address, clients that end before they asked.
. "$(dirname "$0")/lib.sh"
start --address-connections 40 --timeout 60
next='GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'
# refused STATUS REQUEST: one answer with that status, then the end: what follows is not taken for a request.
refused() {
    printf "$2$next" > request
    "$bin/serve_client" lines "$address" 1000 < request > answer || true
    [ "$(grep -o 'HTTP/1.1 [0-9]' answer | wc -l)" = 1 ] && grep -q "^HTTP/1.1 $1 " answer || die "$2: $(cat answer)"
}
p='POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n'
refused 400 "${p}Content-Length: 0\r\nContent-Length: 47\r\n\r\n"
refused 400 "${p}Content-Length : 47\r\n\r\n"
refused 400 "${p}Content-Length: 5x\r\n\r\n"
refused 400 "${p}Transfer-Encoding: chunked\r\nContent-Length: 47\r\n\r\n0\r\n\r\n"
refused 501 "${p}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
refused 400 'GET /health HTTP/1.1\r\n\r\n'
refused 400 "${p}Host: other\r\n\r\n"
refused 400 'GET /health HTTP/1.1\nHost: 127.0.0.1\n\n'
refused 400 "${p}A: b\\000c\r\n\r\n"

# What is right before it is answered first.
printf "$next${p}Content-Length : 5\r\n\r\n" > request
"$bin/serve_client" lines "$address" 1000 < request > answer || true
[ "$(grep -o 'HTTP/1.1 [0-9]*' answer | tr '\n' ' ')" = 'HTTP/1.1 200 HTTP/1.1 400 ' ] || die "one right, one wrong: $(cat answer)"

# A target in absolute form says whom it is for; Host has to say the same.
absolute() { # STATUS TARGET HOST
    printf 'GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$2" "$3" > request
    "$bin/serve_client" lines "$address" 1000 < request > answer || true
    grep -q "^HTTP/1.1 $1 " answer || die "$2 of $3: $(cat answer)"
}
absolute 200 http://127.0.0.1:9/v1/models 127.0.0.1:9
absolute 200 HTTP://LocalHost/health?x=1 localhost
absolute 200 http://localhost localhost
absolute 404 http://localhost/http://localhost/health localhost
absolute 403 http://evil.example/health evil.example
absolute 400 http://localhost/health 127.0.0.1
absolute 400 http://a@localhost/health a@localhost
absolute 400 http:///health ''

# A name that somebody else made mean this address.
code_of() { # [curl's options]: the status of /v1/models
    curl -sS -m 20 -o answer -w '%{http_code}' "$@" "$address/v1/models"
}
[ "$(code_of -H 'Host: evil.example:8080' -H 'Origin: http://evil.example:8080')" = 403 ] || die 'a foreign name'
has unknown_host
[ "$(code_of -H 'Host: localhost')" = 200 ] || die 'localhost'
[ "$(code_of -H 'Host: 127.0.0.1.evil.example')" = 403 ] || die 'a name that begins like an address'
curl -sS -i -X DELETE "$address/v1/models" > answer
has ' 405 ' 'Allow: GET, HEAD'

# Short requests do not wait for large ones, however many of these are read.
head -c 2000000 /dev/zero | tr '\0' ' ' | sed 's/^/{"content":"/; s/$/"}/' > large
for i in 1 2 3 4; do
    (curl -sS -m 300 -o large.$i --data-binary @large "$address/tokenize" && : > done.$i) &
    large="${large:-} $!"
done
sleep 0.5
good /tokenize '{"content":"ab"}' '"count":'
[ ! -e done.1 ] && [ ! -e done.2 ] && [ ! -e done.3 ] && [ ! -e done.4 ] || die 'a short request waits for large ones'
all_end $large

"$bin/serve_client" ends "$address" 300 || die 'clients that end early'
good /health '' ok
"$bin/serve_client" crowd "$address" 40 || die 'a crowd of one address'
stop

start --allow-host models.example --cors https://chat.example
[ "$(code_of -H 'Host: models.example:8443')" = 200 ] || die 'a name that is allowed'
[ "$(code_of -H 'Origin: https://evil.example' -H 'Content-Type: text/plain')" = 403 ] || die 'another origin'
[ "$(code_of -H 'Origin: https://chat.example')" = 200 ] || die 'the origin that may'
curl -sS -i -X OPTIONS -H 'Origin: https://evil.example' "$address/v1/models" > answer
has ' 403 '
! grep -q 'Access-Control-Allow-Origin' answer || die 'another origin is told that it may'
curl -sS -i -X OPTIONS -H 'Origin: https://chat.example' \
    -H 'Access-Control-Request-Headers: authorization,x-stainless-os,anthropic-beta' "$address/v1/models" > answer
has ' 204 ' 'Access-Control-Allow-Headers: authorization,x-stainless-os,anthropic-beta'
stop
