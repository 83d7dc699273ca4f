"""What every room stands on: specs, argument checks, random streams, and which process a booster lives in."""
