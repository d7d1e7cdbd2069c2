"""Programs that derive the tables of the product and measure what they are worth."""
