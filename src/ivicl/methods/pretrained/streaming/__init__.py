"""The network in stages over chunks of rows, in numpy: every row counts, and memory is that of a chunk.

Every step of the network over rows is a sum or a softmax over rows, so that it can be taken chunk by chunk: moments and
Gram matrices, then fits, then the reading of rows by latents, then pooled sums. The weights are those of the one model
file. `learn.network` is the same network in torch, which the file's graph is made from; tests hold the two together.
"""
