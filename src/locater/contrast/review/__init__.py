"""The human check of a built set, its data side: pairs as a page shows them, and the sitting that decides on them."""
