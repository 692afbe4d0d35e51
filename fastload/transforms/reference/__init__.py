"""What each op does to one image, given its record: the reference, through PIL, NumPy and torch,
one file per stage.
"""
