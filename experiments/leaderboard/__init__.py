"""The leaderboard: it runs entrants, plans with foresight, and stores the rows."""
