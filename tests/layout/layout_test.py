#!/usr/bin/python3
"""The tree keeps to the order of the house; and the look at it finds each kind of fault in a made-up tree."""
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases  # noqa: E402
import layout  # noqa: E402


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


class AMadeUpTree(unittest.TestCase):
    """Each case writes files that are in order, and one that may not be."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        for name in ("proto/message.h", "proto/cuda/driver.h", "config/spec.h", "daemon/base/result.h", "daemon/source/listing.h",
                     "daemon/memory/host/slot.h", "daemon/batch/slot.h", "daemon/pipeline/plan.h",
                     "daemon/delivery/ring.h", "daemon/control/server.h", "daemon/node/node.h", "client/src/batch.h",
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
        self.assertIn(name, found[0])
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
                             ("client/cli/x.cpp", "client/src/batch.h"), ("daemon/node/x.cpp", "client/src/batch.h")):
            with self.subTest(name=name, target=target):
                self.assert_include(name, target, allowed=False)

    def test_includes_are_written_from_the_root(self):
        self.assert_fault("daemon/node/x.cpp", '#include "node.h"\n', "no path from the root")

    def test_libraries_stay_in_their_rooms(self):
        for header, inside, outside in (("jpeglib.h", "daemon/media/image/jpeg/x.cpp", "daemon/media/image/x.cpp"),
                                        ("toml++/toml.h", "config/document.cpp", "config/x.cpp"),
                                        ("boost/asio.hpp", "daemon/base/event_loop.cpp", "daemon/control/x.cpp"),
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

    def test_lines_of_the_python_package_stay_short(self):
        self.assertEqual(self.faults("client/python/x.py", f"x = {'1' * (layout.COLUMNS_MAX - 4)}\n"), [])
        self.assert_fault("client/python/x.py", f"x = {'1' * (layout.COLUMNS_MAX - 3)}\n", "columns")

    def test_an_unnamed_constant_hides_none_of_its_room(self):
        (self.root / "daemon/base").mkdir(parents=True, exist_ok=True)
        (self.root / "daemon/base/x.h").write_text("namespace spdld {\nconstexpr int kLimit = 1;\n}\n")
        body = "namespace {\nconstexpr double kFar = 2, %s = 3;\n}  // namespace\n"
        self.assertEqual(self.faults("daemon/base/x.cpp", body % "kOther"), [])
        self.assert_fault("daemon/base/x.cpp", body % "kLimit", "hides")

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
