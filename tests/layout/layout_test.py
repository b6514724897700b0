#!/usr/bin/python3
"""The tree keeps to the order of the house; and the look at it finds each kind of fault in a made-up tree."""
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases
import layout


# A feature, its room, words of the page's sentence on that room that no other room's sentence has together, and where it stands.
FEATURES = (
    ("a message of the control protocol", "proto", ("messages", "framing"), ["proto/control.fbs"]),
    ("a key of a pipeline's file is refused", "config/checks", ("complaint", "key by key"), ["config/checks/check_batch.cpp"]),
    ("a new parameter of random-crop", "config/operations", ("operations", "parameters", "passes in"),
     ["config/operations/image/shape/random_crop.cpp"]),
    ("how random-crop cuts a picture", "daemon/media/image/operations", ("code of the operations on pictures",),
     ["daemon/media/image/operations/shape/random_crop.cpp"]),
    ("the filter by which pictures are resampled", "daemon/media/image/kernels", ("resampling", "weights"),
     ["daemon/media/image/kernels/filter.cpp"]),
    ("the blur of a picture", "daemon/media/image/adjustments", ("blurs",), ["daemon/media/image/adjustments/adjust_pixels.cpp"]),
    ("an animation in a GIF", "daemon/media/image/codecs/gif", ("GIF",), ["daemon/media/image/codecs/gif/canvas.cpp"]),
    ("boxes follow a crop", "daemon/media/image/geometry", ("boxes", "views"), ["daemon/media/image/geometry/box_list.cpp"]),
    ("the cache keeps a JPEG's coefficients", "daemon/media/image/forms", ("cache", "coefficients"),
     ["daemon/media/image/forms/packed_form.cpp"]),
    ("which frames of a video are key frames", "daemon/media/ffmpeg/pictures", ("index", "frames", "chosen"),
     ["daemon/media/ffmpeg/pictures/video_index.cpp"]),
    ("a mel spectrogram", "daemon/media/audio", ("spectrograms",), ["daemon/media/audio/mel_spectrogram.cpp"]),
    ("a tar archive with links", "daemon/source/archives", ("tar archives",), ["daemon/source/archives/archive_links.cpp"]),
    ("a list of weights of samples", "daemon/source/lists", ("to weigh",), ["daemon/source/lists/weight_list.cpp"]),
    ("a bucket asks to come back later", "daemon/store/http", ("endpoint", "asked again"), ["daemon/store/http/endpoint.cpp"]),
    ("a shuffle that does not need the whole list", "daemon/sampler", ("permutation",), ["daemon/sampler/permutation.cpp"]),
    ("batches bounded by cost", "daemon/pipeline/order", ("costs",), ["daemon/pipeline/order/costs.cpp"]),
    ("a lease is given back", "daemon/delivery", ("leases", "credits"), ["daemon/delivery/ring.h"]),
    ("two trainers read one ring", "daemon/node/seats", ("rings", "seats"), ["daemon/node/seats/seating.cpp"]),
    ("the status page", "daemon/node/reports", ("status page",), ["daemon/node/reports/web.cpp"]),
    ("spdlctl why", "client/cli/state", ("why",), ["client/cli/state/why.cpp"]),
    ("a loader attaches anew", "client/src", ("loader", "C functions"), ["client/src/loader_attach.cpp"]),
)


class TheTree(unittest.TestCase):
    def test_keeps_to_the_order(self):
        faults, warnings, seen = layout.look_at(ROOT)
        for warning in warnings:
            print("warning: " + warning)
        self.assertGreater(seen, 50)
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def test_every_room_is_there(self):
        for room in layout.ROOMS:
            self.assertTrue((ROOT / room).is_dir(), f"{room} of layout.py's table is no folder")


    def test_no_room_stands_below_itself(self):
        self.assertEqual(list(layout.rings()), [])

    def test_the_page_has_a_sentence_on_every_room_and_on_no_other(self):
        told = layout.described_rooms((ROOT / "docs/architecture.md").read_text())
        self.assertEqual(set(told), set(layout.ROOMS) - {"daemon"})
        for room, sentence in told.items():
            self.assertGreater(len(sentence.split()), 2, room)

    def test_who_has_read_the_page_names_the_room_of_a_feature(self):
        told = layout.described_rooms((ROOT / "docs/architecture.md").read_text())
        for feature, room, words, files in FEATURES:
            with self.subTest(feature=feature):
                for word in words:  # the page alone leads there, and nowhere else
                    self.assertIn(word, told[room])
                fitting = [other for other, sentence in told.items() if all(word in sentence for word in words)]
                self.assertEqual(fitting, [room])
                for file in files:
                    self.assertTrue((ROOT / file).is_file(), file)
                    self.assertEqual(layout.room_of(file), room)


class AMadeUpTree(unittest.TestCase):
    """Each case writes files that are in order, and one that may not be."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        for name in ("proto/message.h", "proto/cuda/driver.h", "config/spec.h", "daemon/base/result.h", "daemon/source/listing.h",
                     "daemon/memory/host/slot.h", "daemon/batch/slot.h", "daemon/pipeline/plan.h",
                     "daemon/delivery/ring.h", "daemon/control/server.h", "daemon/node/node.h", "client/src/ring/batch.h",
                     "client/program/daemon_binary.h", "client/cli/table.h"):
            self.write(name, "#pragma once\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def faults(self, name, text):
        self.write(name, text)
        return layout.look_at(self.root)[0]

    def assert_fault(self, name, text, words):
        found = self.faults(name, text)
        self.assertEqual(len(found), 1, found)
        self.assertIn(name if words != "source files" else name.rpartition("/")[0], found[0])
        self.assertIn(words, found[0])

    def assert_include(self, name, target, allowed):
        text = f'#include "{target}"\n'
        if allowed:
            self.assertEqual(self.faults(name, text), [])
        else:
            self.assert_fault(name, text, "must not")
        (self.root / name).unlink()

    def test_includes_point_downward(self):
        for name, target in (("daemon/base/x.cpp", "config/spec.h"), ("daemon/source/x.cpp", "daemon/base/result.h"),
                             ("daemon/memory/host/x.cpp", "daemon/memory/host/slot.h"),
                             ("daemon/batch/x.cpp", "daemon/memory/host/slot.h"),
                             ("daemon/pipeline/x.cpp", "daemon/batch/slot.h"),
                             ("daemon/delivery/x.cpp", "daemon/batch/slot.h"),
                             ("daemon/control/x.cpp", "daemon/delivery/ring.h"),
                             ("daemon/node/x.cpp", "daemon/pipeline/plan.h"), ("daemon/main.cpp", "daemon/node/node.h"),
                             ("client/src/x.cpp", "proto/message.h"), ("client/src/x.cpp", "proto/cuda/driver.h"),
                             ("daemon/memory/cuda/x.cpp", "proto/cuda/driver.h"), ("proto/cuda/x.cpp", "proto/message.h"),
                             ("client/cli/x.cpp", "config/spec.h"),
                             ("client/cli/x.cpp", "client/program/daemon_binary.h"),
                             ("tests/node/x.cpp", "daemon/node/node.h")):
            with self.subTest(name=name, target=target):
                self.assert_include(name, target, allowed=True)

    def test_includes_never_point_upward(self):
        for name, target in (("proto/x.cpp", "daemon/base/result.h"), ("proto/x.cpp", "config/spec.h"),
                             ("proto/x.cpp", "proto/cuda/driver.h"), ("daemon/source/x.cpp", "proto/cuda/driver.h"),
                             ("client/cli/x.cpp", "proto/cuda/driver.h"),
                             ("config/x.cpp", "proto/message.h"), ("daemon/base/x.cpp", "daemon/source/listing.h"),
                             ("daemon/source/x.cpp", "daemon/memory/host/slot.h"),
                             ("daemon/memory/host/x.cpp", "daemon/batch/slot.h"),
                             ("daemon/pipeline/x.cpp", "daemon/delivery/ring.h"),
                             ("daemon/delivery/x.cpp", "daemon/pipeline/plan.h"),
                             ("daemon/control/x.cpp", "daemon/pipeline/plan.h"),
                             ("daemon/control/x.cpp", "daemon/node/node.h"), ("client/src/x.cpp", "config/spec.h"),
                             ("client/src/x.cpp", "daemon/base/result.h"), ("client/cli/x.cpp", "daemon/base/result.h"),
                             ("client/cli/x.cpp", "client/src/ring/batch.h"), ("daemon/node/x.cpp", "client/src/ring/batch.h")):
            with self.subTest(name=name, target=target):
                self.assert_include(name, target, allowed=False)

    def test_includes_are_written_from_the_root(self):
        self.assert_fault("daemon/node/x.cpp", '#include "node.h"\n', "no path from the root")

    def test_libraries_stay_in_their_rooms(self):
        for header, inside, outside in (("jpeglib.h", "daemon/media/image/codecs/jpeg/x.cpp", "daemon/media/image/x.cpp"),
                                        ("toml++/toml.h", "config/checks/document.cpp", "config/x.cpp"),
                                        ("boost/asio.hpp", "daemon/base/system/event_loop.cpp", "daemon/control/x.cpp"),
                                        ("cuda.h", "tests/cuda/x.cpp", "proto/cuda/x.cpp"),
                                        ("cuda_runtime.h", "tests/cuda/x.cpp", "daemon/memory/cuda/x.cpp"),
                                        ("hwy/highway.h", "daemon/media/image/x.cpp", "daemon/base/x.cpp")):
            with self.subTest(header=header):
                self.assertEqual(self.faults(inside, f"#include <{header}>\n"), [])
                self.assert_fault(outside, f"#include <{header}>\n", "only")
                (self.root / outside).unlink()

    def test_files_stay_short(self):
        self.assertEqual(self.faults("daemon/base/x.cpp", "\n" * layout.LINES_MAX), [])
        self.assertEqual(len(layout.look_at(self.root)[1]), 1)
        self.assert_fault("daemon/base/x.cpp", "\n" * (layout.LINES_MAX + 1), "lines")

    def test_folders_stay_small(self):
        for number in range(layout.FILES_MAX - 1):  # result.h is there
            self.write(f"daemon/base/x{number}.h", "#pragma once\n")
        self.assertEqual(layout.look_at(self.root)[0], [])
        self.assert_fault("daemon/base/one_more.h", "#pragma once\n", "source files")

    def test_lines_of_the_python_package_stay_short(self):
        self.assertEqual(self.faults("client/python/x.py", f"x = {'1' * (layout.COLUMNS_MAX - 4)}\n"), [])
        self.assert_fault("client/python/x.py", f"x = {'1' * (layout.COLUMNS_MAX - 3)}\n", "columns")

    def test_an_unnamed_constant_hides_none_of_its_room(self):
        (self.root / "daemon/base").mkdir(parents=True, exist_ok=True)
        (self.root / "daemon/base/x.h").write_text("namespace spdld {\nconstexpr int kLimit = 1;\n}\n")
        body = "namespace {\nconstexpr double kFar = 2, %s = 3;\n}  // namespace\n"
        self.assertEqual(self.faults("daemon/base/x.cpp", body % "kOther"), [])
        self.assert_fault("daemon/base/x.cpp", body % "kLimit", "hides")

    def test_each_library_says_how_it_is_optimised(self):
        found = 0
        for file in (ROOT / folder for folder in ("proto", "config", "client", "daemon")):
            for rules in file.rglob("meson.build"):
                for call in re.findall(r"\bstatic_library\((?:[^()]|\([^()]*\))*\)", rules.read_text()):
                    found += 1
                    self.assertRegex(call, r"(hot|cold|kernel|loop|client)_options|override_options: \[", f"{rules}: {call}")
        self.assertGreater(found, 80)

    def test_a_file_belongs_to_a_room(self):
        self.assert_fault("client/x.cpp", "\n", "no room")

    def test_bare_new_and_delete(self):
        for text in ("auto* p = new int(1);", "T* t = new (std::nothrow) T();", "delete p;", "delete[] list;",
                     "int* list = new std::byte[3];"):
            with self.subTest(text=text):
                self.assert_fault("daemon/base/x.cpp", f"void f() {{\n  {text}\n}}\n", ":2: bare")

    def test_what_is_no_bare_new_or_delete(self):
        text = ('#include <new>\n// a new one\nstruct A {\n  A(const A&) = delete;\n  A& operator=(const A&) =delete;\n'
                '  void* operator new(size_t) = delete;\n};\n/* delete it */ const char* t = "new moon";\n'
                "const int n = 1'000'000;\nauto renewed = n; auto x = R\"(new int)\";\n")
        self.assertEqual(self.faults("daemon/base/x.cpp", text), [])


if __name__ == "__main__":
    cases.main()
