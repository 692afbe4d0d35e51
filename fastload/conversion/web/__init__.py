"""Tables of URLs straight to a data set: what is fetched, how politely, and what failed."""
