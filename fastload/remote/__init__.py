"""Data in object stores and on web servers, and their cache on the local disk.

Nothing here knows of images: stores give bytes of objects, the cache keeps pieces of them.
"""
