"""How often the alarm fires where the network does well: the judge's families, whose sets the 99 % interval holds.

    python records/2026-11-20-alarm/quiet.py
"""

from ivicl.benchmarks.efficiency.families import FAMILIES
from ivicl.benchmarks.model_card.alarm import on_families
from ivicl.methods.pretrained.runtime import Model

SIZES = {300: 20, 1_000: 20, 4_000: 10, 16_000: 5}

print("family, version, people, data sets, 99 % interval holds the set, alarm fires")
found = on_families(Model.shipped(), FAMILIES, SIZES)
for each in found:
    print(*(each[key] for key in ("family", "version", "n", "datasets", "held_99", "fires")), sep=", ")
total = sum(each["datasets"] for each in found)
print(f"in all: fires in {sum(each['fires'] * each['datasets'] for each in found):.0f} of {total}")
