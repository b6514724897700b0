"""A script that gives its options to functions of modules beside it: what they set is a gap, and all other options are read."""
import contextlib
import io
import shutil
import tempfile
import tomllib
import unittest
from pathlib import Path

from spdld import migrate

STYLES = Path(__file__).resolve().parent / "styles"
# As torchvision's references have it.
UTILS = """
import os
import torch

def setup_for_distributed(is_master):
    import builtins
    def print(*args, **kwargs):
        pass
    builtins.print = print

def mkdir(path):
    os.makedirs(path, exist_ok=True)

def init_distributed_mode(args):
    if "RANK" in os.environ:
        args.rank = int(os.environ["RANK"])
        args.gpu = int(os.environ["LOCAL_RANK"])
    elif hasattr(args, "rank"):
        pass
    else:
        args.distributed = False
        return
    args.distributed = True
    torch.cuda.set_device(args.gpu)
    print(f"| rank {args.rank} of {args.batch_size}")
    setup_for_distributed(args.rank == 0)
"""
START = "def init_distributed_mode(args):\n"
# What the function may do, and what it leaves as it is.
HARMLESS = ["    pass", "    if args.batch_size > 3: return", "    print(args)", "    args.other = args.batch_size + 1",
            "    print(args.batch_size, len(args.data_path))", "    while args.batch_size: break",
            "    return f'{args.data_path}'", "    assert isinstance(args, object) and getattr(args, 'gpu', None) is None"]
SET_ONE = ["    args.batch_size = 3", "    args.batch_size += 3", "    del args.batch_size", "    take(args.batch_size)",
           "    args.batch_size.bit_length()", "    args.batch_size[0] = 3", "    size = args.batch_size",
           "    return args.batch_size",
           "    for args.batch_size in range(3): pass", "    sizes = [args.batch_size]", "    (lambda: take(args.batch_size))()"]
UNKNOWN = ["    take(args)", "    other = args", "    return args", "    args = 3", "    vars(args)",
           "    args.__dict__['data_path'] = 3", "    setattr(args, 'data_path', 3)", "    for one in args: pass",
           "    getattr(args, 'a').b = 3", "    [args]", "    args()",
           "    def print(x): take(x)\n    print(args)", "    def inner(): return args", "    globals()['x'] = args.batch_size"]
OTHERS = [START + "    pass\ninit_distributed_mode = take", "from other import *\n" + START + "    pass",
          "@take\n" + START + "    pass", "def other(args):\n    pass", START + "    pass\n" + START + "    take(args)",
          "not python", "init_distributed_mode = take", "def init_distributed_mode(*args):\n    pass",
          "class init_distributed_mode:\n    def __init__(self, args):\n        pass"]


class Migrated(unittest.TestCase):
    def migrate(self, utils, dataset="train", script=None):
        """The exit code, the file, and what was said."""
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as told:
            path = Path(folder) / "train.py"
            shutil.copy(STYLES / "references.py", path)
            if script is not None:
                path.write_text(script(path.read_text()))
            if utils is not None:
                (Path(folder) / "utils.py").write_text(utils)
            code = migrate.main([str(path), "--dataset", dataset, "-o", str(Path(folder) / "out.toml")])
            return code, tomllib.loads((Path(folder) / "out.toml").read_text()), told.getvalue()

    def test_options_that_the_function_leaves_alone_are_read(self):
        for dataset, size, shuffle in (("train", 224, True), ("test", 256, False)):
            code, made, told = self.migrate(UTILS, dataset)
            self.assertEqual((code, made.get("gaps")), (0, None), told)
            self.assertEqual(made["source"]["uri"], f"/datasets01/imagenet/{'train' if shuffle else 'val'}")
            self.assertEqual((made["output"][0]["ops"][1]["size"], made["batch"]["size"]), (size, 32))
            self.assertEqual(made["order"]["shuffle"], shuffle)
            self.assertIn("--data-path = '/datasets01/imagenet'", told)
        self.assertEqual(self.migrate(None)[0], 1)  # without the file nothing is known

    def test_what_changes_nothing(self):
        for line in HARMLESS:
            with self.subTest(line):
                code, _, told = self.migrate(START + line)
                self.assertEqual(code, 0, told)

    def test_one_option_that_is_set_is_a_gap_alone(self):
        for line in SET_ONE:
            with self.subTest(line):
                code, made, told = self.migrate(START + line)
                self.assertEqual(code, 1)
                self.assertEqual(len(made["gaps"]), 1, told)
                self.assertIn("batch_size = args.batch_size, which line 53 of the script may change", made["gaps"][0])

    def test_where_the_text_does_not_tell_all_options_are_gaps(self):
        for utils in [START + line for line in UNKNOWN] + OTHERS:
            with self.subTest(utils):
                _, made, _ = self.migrate(utils)
                self.assertIn("args.data_path, which line 53 of the script may change", "".join(made["gaps"]))

    def test_other_ways_of_the_call(self):
        for call, is_known in (("utils.init_distributed_mode(args=args)", True), ("utils.init_distributed_mode(*[args])", False),
                               ("utils.init_distributed_mode(**{'args': args})", False),
                               ("utils.sub.init_distributed_mode(args)", False), ("utils.init_distributed_mode([args])", False),
                               ("utils.init_distributed_mode(args, args)", False),
                               ("utils.init_distributed_mode(a=args)", False)):
            with self.subTest(call):
                code, *_ = self.migrate(UTILS, script=lambda text: text.replace("utils.init_distributed_mode(args)", call))
                self.assertEqual(code == 0, is_known)

    def test_an_attribute_that_is_set_is_there(self):
        """`hasattr(args, "fancy")` is not known to be false where the function may set it."""
        def script(text):
            return text.replace("    train_dir = ", "    if hasattr(args, 'fancy'):\n"
                                "        args.batch_size = 7\n    train_dir = ")
        self.assertEqual(self.migrate(UTILS, script=script)[0], 0)
        code, made, _ = self.migrate(START + "    args.fancy = 3", script=script)
        self.assertEqual(code, 1)
        self.assertIn("batch_size", "".join(made["gaps"]))


if __name__ == "__main__":
    unittest.main()
