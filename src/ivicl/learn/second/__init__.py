"""The second network: yes/no outcomes and amounts, five estimands and the compliers' effect, in one pass."""
