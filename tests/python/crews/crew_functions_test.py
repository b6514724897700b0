"""The functions that a pipeline calls: how a crew gets them, their digests, and the sentences for those that it can't get."""
import functools
import importlib
import json
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
from pathlib import Path
from unittest import mock

from crew_case import CrewCase, errand, needs_cloudpickle, tensor

import spdld
from spdld._crew.functions import with_functions
from spdld._spec import Pipeline, pipeline_of


def blur(data):
    return data


def spec_with(*calls):
    return {"output": [{"name": "image", "ops": [{"op": "decode-image"}, *({"op": "python", "call": call, "gives": {}}
                                                                           for call in calls)]}]}


def resolved(pipeline, ops=None):
    """The codes of its operations, by call, and what a crew is told."""
    given, crew = with_functions(pipeline_of(pipeline), ops)
    codes = {op["call"]: op["code"] for op in json.loads(given.spec)["output"][0]["ops"] if op["op"] == "python"}
    head, _, blobs = crew.input.partition(b"\n")
    return codes, json.loads(head), blobs


class Pipelines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        sys.path.insert(0, str(self.folder))
        self.addCleanup(sys.path.remove, str(self.folder))
        importlib.invalidate_caches()

    def write(self, name, text):
        (self.folder / name).write_text(textwrap.dedent(text))
        return str(self.folder / name)

    def refuses(self, words, pipeline, ops=None):
        with self.assertRaises(spdld.InvalidError) as raised:
            resolved(pipeline, ops)
        self.assertEqual(str(raised.exception), words)

    def test_pipelines_without_python_stay_as_they_are(self):
        toml = self.write("plain.toml", 'name = "python operations: none"\n')
        python = self.write("broken.toml", 'op = "python" and no TOML\n')
        for given in (Pipeline(text="name"), Pipeline(text=toml), Pipeline(text=python), Pipeline(text="/nowhere.toml"),
                      Pipeline(spec='{"name": "python"}', folder=".")):
            self.assertEqual(with_functions(given, None), (given, ([], b"")))
            self.assertIs(with_functions(given, {})[0], given)

    def test_a_toml_file_and_a_json_file_become_the_same_spec_in_their_folder(self):
        self.write("calls_it.py", "def blur(data):\n    return data\n")
        toml = self.write("p.toml", '[[output]]\nname = "image"\nops = [{ op = "decode-image" }, { op = "python", call = '
                          '"calls_it:blur", gives = {} }]\n')
        file = self.write("p.json", json.dumps(spec_with("calls_it:blur")))
        first, second = (with_functions(pipeline_of(path), None)[0] for path in (toml, file))
        self.assertEqual(json.loads(first.spec), json.loads(second.spec))
        self.assertEqual((first.folder, first.text), (str(self.folder), None))
        self.assertEqual(second.folder, str(self.folder))
        self.assertRegex(json.loads(first.spec)["output"][0]["ops"][1]["code"], "^[0-9a-f]{32}$")

    def test_a_dict_that_was_given_is_not_changed(self):
        spec = spec_with("f")
        resolved(spec, {"f": blur})
        self.assertEqual(spec, spec_with("f"))

    def test_functions_of_modules_go_by_their_path_and_others_by_value(self):
        _, head, blobs = resolved(spec_with("f", "g"), {"f": blur, "g": textwrap.TextWrapper.wrap})
        self.assertEqual(head["functions"], {"f": {"path": "crew_functions_test:blur"},
                                             "g": {"path": "textwrap:TextWrapper.wrap"}})
        self.assertEqual((head["blobs"], blobs), ([], b""))
        self.assertTrue(all(Path(folder).is_absolute() for folder in head["path"]))

    @needs_cloudpickle
    def test_functions_that_no_module_has_are_pickled(self):
        size = 3
        pickled = {"lambda": lambda data: data, "partial": functools.partial(blur), "closure": lambda data: data[:size],
                   "method": "abc".join}
        _, head, blobs = resolved(spec_with(*pickled), pickled)
        self.assertEqual({tuple(way) for way in head["functions"].values()}, {("blob",)})
        self.assertEqual(sum(length for _, length in head["blobs"]), len(blobs))

    @needs_cloudpickle
    def test_what_can_not_be_pickled_is_named(self):
        lock = threading.Lock()

        def held(data):
            with lock:
                return data

        self.refuses('the function "f" of ops cannot be pickled because of its variable lock, a lock: TypeError: cannot pickle '
                     "'_thread.lock' object. Make such a value within the function when it is first called, or move the function "
                     "to the top of a module", spec_with("f"), {"f": held})

    def test_without_cloudpickle_there_is_one_sentence(self):
        with mock.patch.dict(sys.modules, {"cloudpickle": None}):
            self.refuses('the function "f" of ops cannot be imported from a module, so it is to be pickled: install cloudpickle, '
                         "or move the function to the top of a module", spec_with("f"), {"f": lambda data: data})

    @needs_cloudpickle
    def test_functions_that_are_too_large(self):
        large = bytes(3 * 2**20)
        with mock.patch("spdld._crew.functions._INPUT_BYTES_MAX", 2 * 2**20):
            self.refuses("what ops brings takes 3 MiB when it is pickled, and 2 MiB are the most: load large values from a file "
                         "when a function is first called, and give a function that makes the data set in its "
                         "place", spec_with("f"),
                         {"f": lambda data: large})

    def test_sentences(self):
        self.refuses('an operation calls "f", which is not in ops: give ops={"f": function}, or write call = "module:function"',
                     spec_with("f"))
        self.refuses('ops has "g", and no operation of the pipeline calls it: write { op = "python", call = "g", gives = ... } '
                     "into the ops of an output", spec_with("f"), {"f": blur, "g": blur})
        self.refuses('ops has "g", and no operation of the pipeline calls it: write { op = "python", call = "g", gives = ... } '
                     "into the ops of an output", {"name": "none"}, {"g": blur})
        self.refuses("ops has functions for the named pipeline imagenet, which is the operator's: give a pipeline in a dict or a "
                     "file", "imagenet", {"g": blur})
        self.refuses('the operation calls "f", which is a value of the type int: write the name of a function', spec_with("f"),
                     {"f": 3})
        self.refuses('ops is a dict of functions, by the names that operations call them by, such as {"blur": blur}, and not a '
                     "value of the type function", spec_with("f"), blur)
        no = ('and Python finds no module {}: write call = "module:function" with a module that the program can import, and add '
              "the module's folder to PYTHONPATH where it needs one")
        self.refuses('the operation calls "nowhere_to:f", ' + no.format("nowhere_to"), spec_with("nowhere_to:f"))
        self.refuses('the operation calls "json.nowhere:f", ' + no.format("json.nowhere"), spec_with("json.nowhere:f"))
        self.refuses('the operation calls "token.inner:f", ' + no.format("token.inner (token is no package)"),
                     spec_with("token.inner:f"))
        self.refuses('the operation calls "json:nothing", and the module json has no nothing: write the name of a function that '
                     "the module has at its top", spec_with("json:nothing"))

    def test_a_module_is_not_imported_in_the_trainer(self):
        (self.folder / "outer_of_it").mkdir()
        self.write("outer_of_it/__init__.py", "raise RuntimeError('imported')\n")
        self.write("outer_of_it/inner.py", "raise RuntimeError('imported')\n")
        codes, head, _ = resolved(spec_with("outer_of_it.inner:blur"))
        self.assertRegex(codes["outer_of_it.inner:blur"], "^[0-9a-f]{32}$")
        self.assertEqual(head["functions"], {})
        self.assertNotIn("outer_of_it", sys.modules)

    def test_a_module_that_is_imported_has_the_code_that_it_had_before(self):
        self.write("first_not.py", "def blur(data):\n    return data\n")
        before = resolved(spec_with("first_not:blur"))[0]
        importlib.import_module("first_not")
        self.assertEqual(resolved(spec_with("first_not:blur"))[0], before)
        self.write("first_not.py", "def blur(data):\n    return data[1:]\n")
        self.assertNotEqual(resolved(spec_with("first_not:blur"))[0], before)


class Codes(unittest.TestCase):
    """Digests of functions of a program; each program is a process."""

    def code(self, text, function="f", as_file=True):
        with tempfile.TemporaryDirectory() as folder:
            program = textwrap.dedent(text) + f"\nfrom spdld._crew.digests import code_of\nprint(code_of({function}))\n"
            path = Path(folder) / "program.py"
            path.write_text(program)
            command = [path] if as_file else ["-c", program]
            return subprocess.run([sys.executable, *command], check=True, capture_output=True, text=True).stdout.strip()

    def assert_other(self, first, *others, function="f", **options):
        codes = [self.code(text, function, **options) for text in (first, *others)]
        self.assertEqual(codes[0], self.code(first, function, **options))
        self.assertEqual(len(set(codes)), len(codes), codes)
        self.assertTrue(all(len(code) == 32 for code in codes))

    def test_the_source_counts(self):
        self.assert_other("def f(x):\n    return x + 1", "def f(x):\n    return x + 2", "def f(x, y=1):\n    return x + 1")

    def test_without_a_source_the_byte_code_counts(self):
        self.assert_other("f = lambda x: x + 1", "f = lambda x: x + 2", "f = lambda x: x in {1, 2, 'a', 'b', 'c'}",
                          "f = lambda x: [x for y in x]", as_file=False)

    def test_values_that_it_refers_to_count(self):
        made = "def make(value):\n    def f(x):\n        return x + value\n    return f\n"
        self.assert_other(made + "f = make(1)", made + "f = make(2)", made + "f = make([1, {'a': 2}])",
                          made + "f = make([1, {'a': 3}])", made + "f = make({'a', 'b', 'c'})")
        self.assert_other("import numpy\nkernel = numpy.arange(3)\ndef f(x):\n    return x * kernel",
                          "import numpy\nkernel = numpy.arange(4)\ndef f(x):\n    return x * kernel")
        self.assert_other("size = 1\ndef f(x):\n    return size", "size = 2\ndef f(x):\n    return size")

    def test_functions_and_classes_of_its_own_module_count(self):
        calls = "def f(x):\n    return g(x)"
        self.assert_other("def g(x):\n    return x\n" + calls, "def g(x):\n    return x + 1\n" + calls)
        self.assert_other("class g:\n    size = 1\n" + calls, "class g:\n    size = 2\n" + calls)
        self.assert_other("def f(x):\n    return f(x - 1)", "def f(x):\n    return f(x - 2)")

    def test_objects_count_with_what_they_hold(self):
        made = ("class F:\n    def __init__(self, *held):\n        self.held = held\n    def __call__(self, x):\n"
                "        return {}\n")
        self.assert_other(made.format("x") + "f = F(1)", made.format("x") + "f = F(2)", made.format("x + 1") + "f = F(1)",
                          made.format("x") + "f = F(F(1))", made.format("x") + "f = F(F(2))")
        self.assert_other(made.format("x") + "f = F(1).__call__", made.format("x") + "f = F(2).__call__")
        parts = "import functools\ndef g(a, b=0):\n    return a\n"
        self.assert_other(parts + "f = functools.partial(g, b=1)", parts + "f = functools.partial(g, b=2)")

    def test_versions_of_packages_count(self):
        def with_version(number):
            return f"import numpy\nnumpy.__version__ = '{number}'\n"
        by_module = "def f(x):\n    return numpy.flip(x)"
        by_name = "from numpy import flip\ndef f(x):\n    return flip(x)"
        unused = "def f(x):\n    return x"
        self.assert_other(with_version(1) + by_module, with_version(2) + by_module)
        self.assert_other(with_version(1) + by_name, with_version(2) + by_name)
        self.assertEqual(self.code(with_version(1) + unused), self.code(with_version(2) + unused))

    def test_a_value_that_holds_itself_ends(self):
        self.code("held = []\nheld.append(held)\ndef f(x):\n    return held")


class InACrew(CrewCase):
    def test_functions_by_path_and_the_trainers_places(self):
        daemon = self.begin("""
            import os, sys
            class Inner:
                def told(data):
                    return repr([os.getcwd(), os.environ["OWN"], sys.path[0], sys.executable, os.environ["OMP_NUM_THREADS"],
                                 os.environ["MKL_NUM_THREADS"]])
            """, errand("f"), ops='{"f": made.Inner.told}', prelude="import os, made; os.chdir('/'); os.environ['OWN'] = 'x'",
            variables={"MKL_NUM_THREADS": "3"})
        told = eval(daemon.call(b"", room=1000)["data"])
        self.assertEqual(told, ["/", "x", str(self.folder), sys.executable, "1", "3"])

    @needs_cloudpickle
    def test_functions_of_the_program_itself(self):
        daemon = self.begin("", errand("f", "g"), ops='{"f": f, "g": lambda data: data + tail}', prelude="""
            tail = b"tail"
            def inner(data):
                return data.upper()
            def f(data):
                return inner(data)
            """)
        self.assertEqual(daemon.call(b"head ", room=100)["data"], b"HEAD tail")

    def test_the_loaders_of_frameworks_take_functions_too(self):
        daemon = self.begin("def upper(data):\n    return data.upper()\n", errand("f"), ops='{"f": made.upper}',
                            imports="import spdld.torch", prelude="import made", attach="spdld.torch.Loader")
        self.assertEqual(daemon.call(b"head", room=100)["data"], b"HEAD")

    @needs_cloudpickle
    def test_a_function_that_can_not_be_loaded_elsewhere(self):
        daemon = self.begin("", errand("f"), ready=False, ops='{"f": F()}', prelude="""
            class F:
                def __call__(self, data):
                    return data
                def __reduce__(self):
                    return int, ("no number",)
            """)
        self.assertEqual(daemon.await_said("failed")["text"], 'the function "f" of ops cannot be loaded in another process: '
                         "ValueError: invalid literal for int() with base 10: 'no number'. Move it to the top of a module that "
                         "can be imported")

    def test_progress_is_told_before_a_crew_is_ready(self):
        daemon = self.begin("def one(data):\n    return data\n",
                            errand("made:one", "json:loads", "made:one", gives=tensor("int64")), ready=False)
        said = [daemon.said() for _ in range(4)]
        self.assertEqual([(one["what"], one["text"], one["number"], one["total"]) for one in said],
                         [("joined", "", 0, 0), ("progress", "importing made", 0, 2), ("progress", "importing json", 1, 2),
                          ("ready", "", 0, 0)])

    def test_a_spdld_that_is_on_no_path_of_the_environment(self):
        package = str(Path(spdld.__file__).parent.parent)
        daemon = self.begin("def one(data):\n    return data\n", errand("made:one"), variables={"PYTHONPATH": ""},
                            imports=f"import sys; sys.path.append({package!r})")
        self.assertEqual(daemon.call(b"x", room=1)["data"], b"x")


