"""What every room stands on: errors, checked files, digests, hints to XLA. Nothing of RL."""
