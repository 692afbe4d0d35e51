"""`python -m fastload` is `fastload`."""

from fastload.cli import main

if __name__ == "__main__":
    main()
