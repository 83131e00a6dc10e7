"""The leaderboard: running entrants, storing rows, the foresight reference."""
