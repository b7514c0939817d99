"""Results as pictures: matplotlib figures, the report page, the player of recordings."""
