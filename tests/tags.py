"""What a document of HTML is made of, and that each of its elements is closed."""

from html.parser import HTMLParser


class Tags(HTMLParser):
    """seen: every element with its attributes; open: those that are not closed yet."""

    def __init__(self) -> None:
        super().__init__()
        self.seen, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
