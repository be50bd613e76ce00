"""How the model is made (PyTorch): the prior, the network, the trainer, the recipes."""
