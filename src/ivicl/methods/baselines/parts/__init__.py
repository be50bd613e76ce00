"""What the published estimators are made of."""
