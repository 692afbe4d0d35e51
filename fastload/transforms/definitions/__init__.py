"""What each library means by its policies: which ops, how they are drawn, and the final argument
that a magnitude gives.
"""
