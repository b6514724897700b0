#!/usr/bin/python3
"""Pages, comments, docstrings and printed texts are written in plain sentences, and the pages' links lead somewhere."""
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases
import pages
import prose
import words

PAGES = pages.all_pages()


class ThePages(unittest.TestCase):
    def test_there_are_pages(self):
        self.assertGreater(len(PAGES), 10)
        self.assertIn("README.md", PAGES)

    def test_sentences_are_plain(self):
        faults = [fault for page in PAGES.values() for fault in words.faults_of(page)]
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def test_links_lead_somewhere(self):
        faults = []
        for path, page in PAGES.items():
            for line, target in page.links():
                if "://" in target:
                    continue
                name, _, anchor = target.partition("#")
                file = (ROOT / path).parent / name if name else ROOT / path
                if not file.exists():
                    faults.append(f"{path}:{line}: {target} is not there")
                elif anchor and anchor not in set(PAGES[str(file.resolve().relative_to(ROOT))].anchors()):
                    faults.append(f"{path}:{line}: {target}: no such heading")
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def test_every_page_can_be_reached_from_the_readme(self):
        reached, waiting = set(), ["README.md"]
        while waiting:
            path = waiting.pop()
            if path in reached or path not in PAGES:
                continue
            reached.add(path)
            for _, target in PAGES[path].links():
                file = ((ROOT / path).parent / target.partition("#")[0]).resolve()
                if file.is_relative_to(ROOT):
                    waiting.append(str(file.relative_to(ROOT)))
        self.assertEqual(set(PAGES) - reached, set())


class TheSources(unittest.TestCase):
    def test_sentences_are_plain(self):
        sources = list(prose.all_sources())
        self.assertGreater(len(sources), 300)
        faults = [fault for source in sources for fault in words.faults_of(source)]
        self.assertEqual(faults, [], "\n" + "\n".join(faults))


class MadeUpSources(unittest.TestCase):
    """The look at a source finds comments, docstrings and texts, and nothing else."""

    def sentences(self, name, text):
        return [sentence for _, sentence in prose.Source(name, text).sentences()]

    def test_cpp(self):
        text = '''#include "a/b/c.h"  // the name of a file
// First line of a sentence
// that goes on. Second sentence here.
int one = 1;  // a comment of its own
/* Of a block,
 * over two lines. */
const char* kText = "one text in"
                    " two pieces\\n\\nand a paragraph";
char quote = '"';  // behind a quote
auto raw = R"(a raw "text" here)";
'''
        self.assertEqual(self.sentences("a.cpp", text), [
            "the name of a file", "First line of a sentence that goes on.", "Second sentence here.", "a comment of its own",
            "Of a block, over two lines.", "one text in two pieces", "and a paragraph", "behind a quote",
            'a raw "text" here'])

    def test_python(self):
        text = '''"""What it does. And more of it.

    one: the first argument
    two, three: the other arguments
"""
raise Error(f"the value {x} is wrong: {y}")
'''
        self.assertEqual(self.sentences("a.py", text), [
            "What it does.", "And more of it.", "one: the first argument", "two, three: the other arguments",
            "the value x is wrong: x"])

    def test_habits_are_found(self):
        for name, text in (("a.h", "// One that waits is last."), ("a.h", "int x;  /* it has two jobs, of which one waits */"),
                           ("a.cpp", 'fail("it is not the one"\n     " that was meant");'), ("a.py", '"""Those who wait."""')):
            with self.subTest(text=text):
                self.assertEqual(len(list(words.faults_of(prose.Source(name, text)))), 1)


class MadeUpPages(unittest.TestCase):
    """The look at the words finds each habit, and leaves plain sentences alone."""

    def faults(self, text):
        return list(words.faults_of(pages.Page("page.md", text)))

    def test_habits_are_found(self):
        for text in ("Those that come late wait.", "One that comes late begins with the first batch.",
                     "What is read once is kept.", "That which is kept stays.", "It has four jobs, of which two wait.",
                     "A slot that is full, the one that waits, is sent.", "The batches are those of the first job.",
                     "It waits.\nThose who come late wait.", "- Those that wait.", "| a | What lists something is refused. |",
                     "The GPU is that of its rank.", "**Bold.** One that waits is last.",
                     "A sentence " + "with many words " * 17 + "ends."):
            with self.subTest(text=text):
                self.assertEqual(len(self.faults(text)), 1, self.faults(text))

    def test_plain_sentences_are_left_alone(self):
        for text in ("A job that joins late starts at the oldest batch in memory.", "What works today?",
                     "## What works", "```text\nThose that wait.\n```", "`Those that` is code.",
                     "One command builds it. Those jobs wait.", "| What works | That works |\n| --- | --- |"):
            with self.subTest(text=text):
                self.assertEqual(self.faults(text), [])

    def test_a_page_is_taken_apart(self):
        page = pages.Page("page.md", "# One `word`, two\n\n```sh run\nls\n```\n\ntext [link](other.md#here)\n\n    code\n")
        self.assertEqual([(block.words, block.text, block.line) for block in page.blocks], [(("sh", "run"), "ls\n", 3)])
        self.assertEqual(list(page.anchors()), ["one-word-two"])
        self.assertEqual(list(page.links()), [(7, "other.md#here")])
        self.assertEqual(list(page.indented()), [9])
        self.assertEqual(list(pages.Page("page.md", "- item\n\n    continued\n").indented()), [])
        with self.assertRaises(ValueError):
            pages.Page("page.md", "```sh\nls\n")


if __name__ == "__main__":
    cases.main()
