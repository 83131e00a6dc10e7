"""Programs that make pages, pictures and golden files, and that check them."""
