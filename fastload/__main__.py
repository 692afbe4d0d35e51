"""`python -m fastload` is `fastload`."""

import signal


def main() -> None:
    """Runs the command line. Ctrl-C is silent while its modules are imported, too."""
    raises = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if raises:  # else it is ignored, as of a program in the background
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from fastload import cli

    if raises:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    cli.main()


if __name__ == "__main__":
    main()
