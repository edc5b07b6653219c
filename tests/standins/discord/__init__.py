"""A Discord of one bot on 127.0.0.1: REST API and gateway over real sockets, before simcord's backend."""
