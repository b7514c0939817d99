"""A page of `qduet report` as a reader sees it: its text, links and embedded numbers."""

import json
from html.parser import HTMLParser

from qduet.show.report import build


class Reader(HTMLParser):
    """The text of a page, the ids and links in it, and its embedded JSON."""

    def __init__(self, text):
        super().__init__()
        self.words, self.ids, self.links, self.scripts, self.stack = [], [], [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"][1:]] if found.get("href", "").startswith("#") else []
        if tag == "script":
            self.stack.append(found.get("id"))

    def handle_endtag(self, tag):
        if tag == "script":
            self.stack.pop()

    def handle_data(self, data):
        if self.stack:
            self.scripts[self.stack[-1]] = data
        else:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    @property
    def embedded(self):
        return json.loads(self.scripts["qduet-data"])


def read(directories):
    page = build(directories)
    return page, Reader(page.html)
