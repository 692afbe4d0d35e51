"""Names that come from outside, folders that nothing escapes from, and the user's cache: what every
part that writes files stands on.
"""
