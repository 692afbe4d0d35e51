"""What programs change under a loader, and when: data sets, transforms, modules, settings, library
code.
"""
