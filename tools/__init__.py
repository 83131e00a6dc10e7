"""Programs that generate docs pages, pictures and golden files, and programs that check the repository."""
