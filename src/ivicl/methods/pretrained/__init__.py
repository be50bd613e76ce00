"""The pretrained network as a method: the exported graph, run by onnxruntime without torch."""
