"""What runs inside a training that `fastload profile -- …` or `fastload.watch` measures.

It imports nothing but the standard library until the program itself imports torch: environment
variables that a script sets before that must still count.
"""
