"""The leaderboard: it runs policies, plans with foresight, and stores the rows."""
