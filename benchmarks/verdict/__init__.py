"""The profiler's verdict on trainings whose limit is known: made, measured without the profiler,
then judged by it and by simple rules.
"""
