"""Alert rules: rules in, states out; pure, so that a cron job and a server agree."""
