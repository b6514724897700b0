#!/usr/bin/python3
"""The reasons for which the media rooms refuse content name formats and features in words, and never by a bare number."""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import bare_numbers
import cases


class TheMediaRooms(unittest.TestCase):
    def test_write_no_bare_number(self):
        paths = sorted(path for path in (ROOT / "daemon/media").rglob("*") if path.suffix in (".cpp", ".h"))
        found = [f"{path.relative_to(ROOT)}:{line}: {what}" for path in paths
                 for line, what in bare_numbers.in_source(path.read_text())]
        self.assertGreater(len(paths), 300)
        self.assertEqual(found, [], "name it in words:\n" + "\n".join(found))

    def test_tell_faults_of_ffmpeg_in_words(self):
        """av_strerror() writes the number of a fault that it does not know, and avcodec_get_name() no name that users know."""
        sources = {path.name: path.read_text() for path in (ROOT / "daemon/media/ffmpeg").rglob("*.cpp")}
        callers = [name for name, text in sources.items() if "lib::av_strerror(" in text]
        self.assertEqual(callers, ["handles.cpp"])
        self.assertRegex(sources["handles.cpp"], r"if \(lib::av_strerror\([^;]*\) < 0\)\s*return \"")
        for name, text in sources.items():
            for line in text.splitlines():
                if "avcodec_get_name(" in line:
                    self.assertIn("starts_with(", line, f"{name}: name_of_codec() has the name for a sentence")

    def test_call_damaged_what_is_damaged(self):
        """Of sounds, one sentence says it, behind the looks at what FFmpeg lacks and at what changes on the way."""
        text = "".join(path.read_text() for room in ("audio", "flac") for path in (ROOT / f"daemon/media/{room}").glob("*.cpp"))
        text += "".join((ROOT / f"daemon/media/ffmpeg/sound/{name}.cpp").read_text() for name in
                        ("audio_decoder", "audio_index", "audio_link", "link_indexer", "packet_samples", "wave_format"))
        self.assertEqual(re.findall(r'"[^"\n]*damaged[^"\n]*"', text), ['" s, can\'t be decoded: its data is damaged"'])
        refusal = text[text.index("Error refusal(int fault)"):]
        self.assertLess(refusal.index("is_missing_feature("), refusal.index("damaged()"))

    def test_have_refusals_that_are_looked_at(self):
        refusals = sum((path.read_text().count("not_decoded(") for path in (ROOT / "daemon/media/image").rglob("*.cpp")), 0)
        self.assertGreater(refusals, 30)


class TheLook(unittest.TestCase):
    def test_finds_bare_numbers_in_source(self):
        for text in ('not_decoded(kName, "a compression of kind " + std::to_string(number))',
                     'return damaged("colours of the unknown kind "\n  + to_string(kind));',
                     'snprintf(text, 9, "marker 0x%02x", marker)', '"the codec " + std::to_string(id)', 'out << std::hex << tag;',
                     '"compression number " + std::to_string(n)'):
            self.assertEqual(len(bare_numbers.in_source("\n" + text)), 1, text)

    def test_leaves_counts_and_sizes_and_remarks(self):
        for text in ('"samples of " + std::to_string(bits) + " bits"', '"a JPEG of " + std::to_string(count) + " components"',
                     '// a code " + std::to_string(n)', 'return "libwebp " + std::to_string(version >> 16)', '"#%06x"'):
            self.assertEqual(bare_numbers.in_source(text), [], text)

    def test_finds_bare_numbers_in_sentences(self):
        for text in ("a TIFF with a compression of kind 4", "Unsupported marker type 0xf7", "codec 86018 is not known",
                     "Error number -22 occurred"):
            self.assertTrue(bare_numbers.in_sentence(text), text)
        for text in ("a TIFF with samples of 20 bits", "a GIF of 3 frames", "JPEG 2000 data", "1 of 5 codes",
                     "the H.264 format of 10 bits"):
            self.assertEqual(bare_numbers.in_sentence(text), "", text)


if __name__ == "__main__":
    cases.main()
