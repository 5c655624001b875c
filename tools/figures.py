"""Draw the pictures of the README again."""
