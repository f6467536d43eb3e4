"""Check the built site: every local link and picture leads to a file, and to an anchor that is in it.

    python docs/check_links.py docs/_build/html

Nothing is fetched; whatever a page loads from another host is an error too, but for links to follow.
"""

import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loads = {"", "top"}, set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "a" and values.get("href"):
            self.links.add(values["href"])
        if tag in ("img", "script") and values.get("src"):
            self.loads.add(values["src"])
        if tag == "link" and values.get("href"):
            self.loads.add(values["href"])


def problems(root):
    """Yield what is wrong, page by page."""
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*.html"))
        if "_static" not in path.parts
    }
    if not pages:
        yield f"no pages in {root}"
    for path, page in pages.items():
        for link in sorted(page.links | page.loads):
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loads and parts.scheme != "data":
                    yield f"{path.relative_to(root)} loads {link} from another host"
                continue
            name = urllib.parse.unquote(parts.path)
            target = (path.parent / name).resolve() if name else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{path.relative_to(root)}: {link} leads to no file"
            elif target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                yield f"{path.relative_to(root)}: {link} leads to no anchor"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = list(problems(root))
    print(*found, f"{len(found)} broken links in {root}", sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
