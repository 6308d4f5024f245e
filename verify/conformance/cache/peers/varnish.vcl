vcl 4.1;

# Varnish with its own rules in front of one origin. It is started with no lifetime and no grace but what the origin gives,
# and keeps what has a validator for an hour to ask about it.
backend default {
  .host = "127.0.0.1";
  .port = "ORIGIN";
}
