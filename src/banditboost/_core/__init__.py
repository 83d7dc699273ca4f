"""What the whole library uses: specs, argument checks, random streams, and the process that a booster belongs to."""
