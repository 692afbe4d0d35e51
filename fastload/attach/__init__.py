"""What runs inside somebody else's training while `fastload profile -- …` or `fastload.watch` looks
on.

It imports nothing but the standard library until the program itself imports torch: environment
variables that a script sets before that must still count.
"""
