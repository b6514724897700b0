"""Makes the status page of its parts, as C++ source: embed.py OUTPUT page.html PART... replaces each @PART@ in the page."""
import base64
import hashlib
import sys
from pathlib import Path

PIECE = 8000  # characters; compilers bound the length of a text


def hash_of(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def between(page, begin, end):
    """The only text between two tags, which the policy names by its hash."""
    if page.count(begin) != 1 or page.count(end) != 1:
        raise SystemExit(f"the page needs one {begin} and one {end}")
    return page.split(begin)[1].split(end)[0]


def policy_of(page):
    return "; ".join(["default-src 'none'", f"script-src {hash_of(between(page, '<script>', '</script>'))}",
                      f"style-src {hash_of(between(page, '<style>', '</style>'))}", "img-src data:", "connect-src 'self'",
                      "form-action 'none'", "base-uri 'none'", "frame-ancestors 'none'"])


def literal(text):
    pieces = [text[at:at + PIECE] for at in range(0, len(text), PIECE)]
    return "\n".join(f'R"page({piece})page"' for piece in pieces)


def page_of(html, parts):
    page = html.read_text()
    for part in parts:
        if page.count(f"@{part.name}@") != 1:
            raise SystemExit(f"{html.name} has no @{part.name}@")
        page = page.replace(f"@{part.name}@", part.read_text())
    return page


def main():
    output, html, *parts = map(Path, sys.argv[1:])
    page = page_of(html, parts)
    output.write_text('#include "daemon/node/reports/page/page.h"\n\nnamespace spdld::node {\n\n'
                      f"const std::string_view kPage =\n{literal(page)};\n\n"
                      f"const std::string_view kPagePolicy =\n{literal(policy_of(page))};\n\n}}  // namespace spdld::node\n")


if __name__ == "__main__":
    main()
