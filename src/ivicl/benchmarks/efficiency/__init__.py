"""How near to the best possible an interval is, on laws that nobody trained on."""
