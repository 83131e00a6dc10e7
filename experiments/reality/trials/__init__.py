"""Field trials, part C of the protocol: predicted from weather and treatments, then compared with what was measured.

The readers return the columns that they are asked for. A trial predicts from treatments and weather first, and reads
what was measured afterwards.
"""
