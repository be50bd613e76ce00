"""The parts that the published estimators are made of."""
