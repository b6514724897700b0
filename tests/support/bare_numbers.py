"""Finds numbers that stand where a reason should have a name: "a compression of kind 4" in place of "CCITT fax"."""
import re

NOUNS = (r"(?:kind|type|code|format|codec|method|compression|marker|tag|identifier|id|process|scheme|encoding|transfer|colou?r "
         r"?space|error)s?")
SENTENCE = re.compile(rf"\b{NOUNS}(?: number)?:? (?:0x[0-9a-f]+|-?\d+)(?![\d.]*\w)|\b0x[0-9a-f]+\b|\bFourCC\b", re.IGNORECASE)
# C++ that makes such a sentence: a text that ends in one of the nouns, and a number behind it; or hexadecimal digits.
SOURCE = re.compile(rf'\b{NOUNS}(?: number)?:? "\s*\+\s*(?:std::)?to_string\s*\(|0x%|%#[0-9.]*[xX]|std::hex\b', re.IGNORECASE)
REMARK = re.compile(r'//[^\n]*|("(?:\\.|[^"\\\n])*")')


def in_sentence(sentence):
    """The bare number with its noun; empty: there is none."""
    found = SENTENCE.search(sentence)
    return found.group() if found else ""


def in_source(text):
    """The places, (line, what), at which C++ writes a bare number."""
    plain = REMARK.sub(lambda match: match.group(1) or "", text)
    return [(plain.count("\n", 0, found.start()) + 1, found.group()) for found in SOURCE.finditer(plain)]
