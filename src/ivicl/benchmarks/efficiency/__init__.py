"""How close an interval comes to the best possible one, on laws that nobody trained on."""
