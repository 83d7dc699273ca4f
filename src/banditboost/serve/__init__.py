"""The decision service: boosters behind an address, whose every acknowledged call is in their journals (extra ``serve``).

One folder a booster, one journal a folder, and one thread a booster, which carries out the calls that wait for it in order, waits
for the disk once for all of them, and then acknowledges them. The web framework is known in this room alone.
"""
