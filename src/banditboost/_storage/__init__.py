"""Files of boosters and tickets: how they are written and how they are read without executing anything."""
