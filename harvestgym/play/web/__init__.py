"""The web page of a game and its server."""
