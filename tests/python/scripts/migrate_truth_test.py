"""What spdld.migrate writes without a gap is what the script does: scripts that try to mislead it are run, with recorders in
place of torch and torchvision, and what they did is compared."""
import argparse
import sys
import textwrap
import types
import unittest
from unittest import mock

from spdld._script import Script
from spdld.migrate import Page, datasets_of

START = """\
import argparse, contextlib, dataclasses, functools, os, sys
import helpers
import torch
import torchvision.transforms as T
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
"""
ARGUMENTS = """\
parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=20)
parser.add_argument("--bs", type=int, default=4)
parser.add_argument("--root", default="/data")
{before}
args = parser.parse_args()
{after}
data = ImageFolder(args.root, T.Compose([T.Resize((args.size, args.size))]))
loader = DataLoader(data, batch_size=args.bs, shuffle=True)
"""
LIST = """\
def other():
    steps.append(T.CenterCrop(3))
{before}
steps = [T.Resize((20, 20))]
{after}
data = ImageFolder("/data", T.Compose(steps))
{last}
loader = DataLoader(data, batch_size=4)
"""
FUNCTION = """\
size = 20
def helper(size, extra=None):
{body}
data = ImageFolder("/data", T.Compose([T.Resize((helper({given}), 7))]))
loader = DataLoader(data, batch_size=4)
"""
OBJECT = """\
class Pictures({base}):
    size = 20
    def __init__(self, root="/data", bs=4):
        self.root, self.bs = root, bs
        self.later = 5
        {body}
    def change(self):
        self.bs = 7
    def make(self):
        self.data = ImageFolder(self.root, T.Compose([T.Resize((self.size, self.size))]))
        self.loader = DataLoader(self.data, batch_size=self.bs)
made = Pictures({given})
{after}
made.make()
"""
DICT = """\
config = {{"size": 20, "bs": 4}}
{after}
data = ImageFolder("/data", T.Compose([T.Resize((config["size"], config["size"]))]))
loader = DataLoader(data, batch_size=config["bs"])
"""
PLAIN = "data = ImageFolder('/data', T.Compose([T.Resize(({size}, 7))]))\nloader = DataLoader(data, batch_size=4)\n"

AFTER_ARGUMENTS = [
    "pass", "args.bs = 7", "setattr(args, 'bs', 7)", "vars(args)['bs'] = 7", "args.__dict__.update(bs=7)", "helpers.change(args)",
    "del args.root\nargs.root = '/other'", "other = args\nother.size = 30", "if helpers.yes: args.bs = 7", "[args][0].bs = 7",
    "def own(given):\n    given.bs = 7\nown(args)", "def own(given):\n    helpers.change(given)\nown(args)",
    "args = helpers.other(args)",
    "args.bs, args.size = 7, 8", "args.bs += 1", "for args.bs in (5, 6): pass", "def own():\n    args.bs = 9\nhelpers.call(own)",
    "own = lambda: setattr(args, 'bs', 9)\nown()", "args = argparse.Namespace(size=3, bs=5, root='/x')",
    "with helpers.making(args): pass",
    "own = functools.partial(setattr, args, 'bs', 3)\nown()", "args = args if helpers.yes else None", "globals()['args'].bs = 7",
    "args.bs = args.size", "args.new = 5\nargs.bs = args.new", "parser.parse_args([], args)",
    "parser.parse_args(['--bs', '9'], namespace=args)",
    "class Own:\n    args.bs = 9", "while args.bs < 9: args.bs = 9", "try:\n    args.bs = 9\nfinally:\n    pass",
    "def own(given, n):\n    if n: own(given, n - 1)\n    else: given.bs = 9\nown(args, 3)",
    "def own(given):\n    yield\n    given.bs = 9\nlist(own(args))", "def own(*given):\n    given[0].bs = 9\nown(args)",
    "@helpers.wrapped\ndef own(given): pass\nown(args)", "if args.bs == 4: args.bs = 11", "if not args.size > 3: args.bs = 11",
    "args.bs = 11 if args.size == 20 else 3", "args.bs = helpers.yes and 6", "if os.environ.get('NONE') is None: args.bs = 8",
    "def own():\n    global args\n    args = helpers.other(args)\nown()", "(lambda given: given.__setattr__('bs', 12))(args)",
    "helpers.kept = args\nhelpers.change_kept()", "helpers.keep(a=[args])\nhelpers.change_kept()",
]
BEFORE_ARGUMENTS = [
    "parser.set_defaults(bs=9)", "helpers.defaults(parser)", "if helpers.yes: parser.add_argument('--bs2', dest='bs', default=9)",
    "parser.add_argument('--bs2', dest='bs', default=9)", "parser.set_defaults(**helpers.options)",
    "other = parser\nother.set_defaults(bs=9)",
    "parser.add_argument('--more', default=3)", "parser.get_default = 3", "parser._defaults['bs'] = 9",
    "group = parser.add_argument_group()\n"
    "group.set_defaults(bs=9)", "def own(given):\n    given.set_defaults(bs=9)\nown(parser)", "parser.set_defaults = print",
    "parser.parse_args = helpers.parsed", "argparse.ArgumentParser.parse_args = helpers.parsed_by",
    "for name in ['a', 'b']:\n    parser.add_argument('--' + name, dest='bs', default=9)", "sys.argv = ['x', '--bs', '9']",
    "sys.argv.extend(['--bs', '9'])", "sys.argv[1:] = ['--bs', '9']", "parser._actions[2].default = 9",
    "action = parser.add_argument('--z')\n"
    "action.dest = 'bs'\naction.default = 9",
    "def int(given): return 9\nparser.add_argument('--bs2', dest='bs', type=int, default='4')",
]
AFTER_LIST = [
    "pass", "steps.append(T.CenterCrop(3))", "steps += [T.CenterCrop(3)]", "steps.insert(0, T.CenterCrop(3))",
    "steps.extend([T.CenterCrop(3)])",
    "if helpers.yes: steps.append(T.CenterCrop(3))", "for _ in range(2): steps.append(T.CenterCrop(3))",
    "steps.append(T.CenterCrop(3)); steps.pop()",
    "steps.append(T.CenterCrop(3))\nsteps.reverse()",
    "try:\n    helpers.fail()\n    steps.append(T.CenterCrop(3))\nexcept Exception: pass",
    "with contextlib.suppress(Exception):\n    helpers.fail()\n    steps.append(T.CenterCrop(3))",
    "other()\nsteps.append(T.CenterCrop(4))",
    "helpers.call(other)\nsteps.append(T.CenterCrop(4))", "steps.extend(helpers.steps)", "steps = steps + [T.CenterCrop(3)]",
    "steps *= 2",
    "steps[0] = T.CenterCrop(3)", "steps.append(T.CenterCrop(3)) if helpers.no else None",
    "helpers.no and steps.append(T.CenterCrop(3))",
    "steps.insert(-1, T.CenterCrop(3))\nsteps.append(T.CenterCrop(4))", "steps.append(steps[0])",
    "steps.append(T.CenterCrop(len(steps)))",
    "def more(given):\n    if helpers.yes:\n        return\n    given.append(T.CenterCrop(3))\nmore(steps)",
    "while len(steps) < 3: steps.append(T.CenterCrop(3))",
    "def more(given):\n    for _ in range(2):\n        if helpers.yes:\n            return 3\n"
    "    given.append(T.CenterCrop(3))\nmore(steps)",
    "def more(given):\n    given = list(given)\n    given.append(T.CenterCrop(3))\nmore(steps)",
    "a = b = steps\nb.append(T.CenterCrop(3))",
    "steps.__iadd__([T.CenterCrop(3)])", "list.append(steps, T.CenterCrop(3))", "add = steps.append\nadd(T.CenterCrop(3))",
    "steps: list = [T.CenterCrop(3)]", "[steps.append(T.CenterCrop(n)) for n in (1, 2)]", "steps, rest = [T.CenterCrop(3)], 3",
    "rest = [steps, 3]\nrest[0].append(T.CenterCrop(3))", "def more():\n    global steps\n    steps = [T.CenterCrop(3)]\nmore()",
    "del steps[0]", "list(map(steps.append, [T.CenterCrop(3)]))", "getattr(steps, 'append')(T.CenterCrop(3))",
]
LAST_LIST = ["steps.append(T.CenterCrop(3))", "data.transform.transforms.append(T.CenterCrop(3))",
             "data.transform = T.Compose([T.CenterCrop(3)])", "other()",
             "data.transform.transforms[0].size = (9, 9)", "helpers.call(other)"]
BODIES = [
    ("return size", "20"), ("return extra", "20, 30"), ("return extra", "20"), ("if extra: return 3\n    return size", "20"),
    ("if helpers.yes: return 3\n    return size", "20"),
    ("for _ in range(3):\n        if helpers.yes: return 3\n    return size", "20"),
    ("while True: return 3", "20"), ("try:\n        return helpers.fail()\n    except Exception:\n        return 3", "20"),
    ("try:\n        return 5\n    finally:\n        size = 7", "20"),
    ("with contextlib.suppress(Exception):\n        helpers.fail()\n        return 5\n    return 6", "20"),
    ("size = size + 1\n    return size", "20"), ("size += 1\n    return size", "20"),
    ("def inner(): return size\n    size = 9\n    return inner()", "20"),
    ("global size_of\n    size_of = size\n    return size_of", "20"), ("return (lambda: size)()", "20"),
    ("return [size for size in (1, 2)][0]", "20"),
    ("extra = extra or 11\n    return extra", "20"), ("return size if extra is None else extra", "20, extra=30"),
    ("return size", "extra=5, size=9"),
    ("return size", "*[9]"), ("return size", "**{'size': 9}"), ("yield size", "20"),
    ("if size == 20:\n        raise SystemExit\n    return 3", "21"),
    ("if size > 5:\n        if size > 10:\n            return 30\n    else:\n        return 40\n    return 50", "8"),
    ("import helpers as T\n    return T.number", "20"), ("return helper(size - 1) if size > 18 else size", "20"),
    ("nonlocal_size = size\n    return nonlocal_size", "20"),
    ("return {'a': size, 'b': 3}['a']", "20"), ("return (size, 3)[1]", "20"), ("if not extra: size = 4\n    return size", "20"),
    ("with contextlib.nullcontext():\n        return size", "20"), ("assert size\n    return size", "20"),
    ("return size\n    size = 3", "20"),
    ("a, size = size, 3\n    return a", "20"), ("match size:\n        case 20: return 3\n    return size", "20"),
    ("return int(f'{size}0')", "20"),
    ("extra = [size]\n    extra.append(3)\n    return extra[1]", "20"),
    ("extra = [size]\n    extra[0] = 3\n    return extra[0]", "20"),
    ("return max(size, 3)", "20"), ("del size\n    size = 5\n    return size", "20"), ("return (size := 6)", "20"),
]
OBJECTS = [
    ("", "pass", "", "pass"), ("", "pass", "'/other', bs=9", "pass"), ("", "pass", "", "made.bs = 7"),
    ("", "pass", "", "made.change()"),
    ("", "pass", "", "Pictures.size = 3"), ("", "pass", "", "setattr(made, 'bs', 7)"), ("", "pass", "", "helpers.change(made)"),
    ("", "pass", "", "vars(made)['bs'] = 9"),
    ("", "self.change()", "", "pass"), ("", "helpers.change(self)", "", "pass"), ("", "setattr(self, 'bs', 7)", "", "pass"),
    ("", "self.__dict__['bs'] = 7", "", "pass"), ("helpers.Base", "super().__init__()", "", "pass"),
    ("", "self.size = 9", "", "pass"),
    ("", "me = self\n        me.bs = 9", "", "pass"), ("", "[setattr(x, 'bs', 9) for x in [self]]", "", "pass"),
    ("", "pass", "", "Pictures(bs=9)"),
    ("", "pass", "", "other = Pictures(bs=9)\nother.make()"),
    ("", "pass", "", "class More(Pictures):\n    size = 9\nmade = More()"),
    ("", "pass", "", "Pictures.__init__(made, bs=11)"), ("", "pass", "", "def own(given):\n    given.bs = 9\nown(made)"),
    ("metaclass=helpers.Meta", "pass", "", "pass"),
    ("", "pass", "", "helpers.kept = made\nhelpers.change_kept()"), ("", "pass", "", "made.__dict__.update(bs=9)"),
    ("", "pass", "", "Pictures.make = lambda self: None"),
    ("", "pass", "", "type(made).size = 9"), ("", "pass", "", "made.__class__.size = 9"),
    ("", "self.bs = self.later", "", "pass"),
    ("", "self.bs += 3", "", "pass"), ("", "for self.bs in (1, 2): pass", "", "pass"),
    ("", "if helpers.yes: self.root = '/other'", "", "pass"),
    ("", "if bs == 4: self.root = '/other'", "", "pass"), ("", "pass", "", "getattr(made, 'change')()"),
    ("", "pass", "", "helpers.call(made.change)"),
    ("", "pass", "", "[made][0].bs = 9"), ("", "pass", "", "change = made.change\nchange()"),
    ("", "pass", "", "(made if helpers.yes else None).change()"),
]
AFTER_DICT = ["pass", "config['bs'] = 9", "config.update(bs=9)", "config |= {'bs': 9}", "helpers.change_dict(config)",
              "if helpers.yes: config['bs'] = 9",
              "other = config\nother['bs'] = 9", "config['new'] = 3", "for key in config: config[key] = 9",
              "config = {**config, 'bs': 9}",
              "config.setdefault('bs', 9)", "config['sub'] = config\nconfig['sub']['bs'] = 9",
              "del config['bs']\nconfig['bs'] = 9",
              "def own(given): given['bs'] = 9\nown(config)", "config[helpers.key] = 9", "dict.__setitem__(config, 'bs', 9)"]
WHOLE = [
    "made = {s: ImageFolder('/data/' + s, T.Compose([T.Resize((n, 7))])) for n, s in [(1, 'a'), (2, 'b')] if s == 'b'}\n"
    "loader = DataLoader(made['b'], batch_size=4)\n",
    "made = {}\nfor s in ('a', 'b'):\n    made[s] = ImageFolder('/data/' + s, T.Compose([T.Resize((5, 7))]))\n"
    "    if s == 'a': break\n"
    "loader = DataLoader(made['a'], batch_size=4)\n",
    "for s in ('a', 'b'):\n    size = 5\n    data = ImageFolder('/data/' + s, T.Compose([T.Resize((size, 7))]))\n    size = 6\n"
    "    loader = DataLoader(data, batch_size=4)\n",
    "n = 1\nfor s in ('a', 'b'):\n    data = ImageFolder('/data/' + s, T.Compose([T.Resize((n, 7))]))\n    n = n + 1\n"
    "    loader = DataLoader(data, batch_size=4)\n",
    "sizes = [1, 2]\nsizes.append(3)\nmade = [ImageFolder('/data', T.Compose([T.Resize((n, 7))])) for n in sizes]\n"
    "loader = DataLoader(made[2], batch_size=4)\n",
    "x = 1\nx = 2\n" + PLAIN.format(size="x"), "x: int = 3\n" + PLAIN.format(size="x"),
    "import helpers as x\n" + PLAIN.format(size="x.number"),
    PLAIN.format(size="5 if helpers.yes else 6"), PLAIN.format(size="5 or 6"), PLAIN.format(size="0 or 6"),
    PLAIN.format(size="7 and 6"),
    PLAIN.format(size="int(f'{3:02d}1')"), PLAIN.format(size="int(f'{3!r}1')"), PLAIN.format(size="(3 < 4) + 4"),
    PLAIN.format(size="2 ** 3 % 5"),
    PLAIN.format(size="(1 if 3 < 4 < 2 else 9)"), PLAIN.format(size="(1 if 'a' in 'ab' else 9)"),
    PLAIN.format(size="(1 if 1000 is 1000 else 9)"),
    PLAIN.format(size="[5, 6][-1]"), PLAIN.format(size="{'a': 5, 'a': 6}['a']"), PLAIN.format(size="{1: 5, True: 6}[1]"),
    PLAIN.format(size="min([4, 5])"),
    "if __name__ == '__main__':\n    size = 8\nelse:\n    size = 9\n" + PLAIN.format(size="size"),
    "__name__ = 'x'\nif __name__ == '__main__':\n    size = 8\n"
    "else:\n    size = 9\n" + PLAIN.format(size="size"),
    "def size(): return 5\ndef size(): return 6\n" + PLAIN.format(size="size()"),
    "def size(): return 5\nsize = helpers.six\n" + PLAIN.format(size="size()"),
    "if helpers.yes:\n    def size(): return 5\nelse:\n    def size(): return 6\n" + PLAIN.format(size="size()"),
    "def size(n=[]):\n    n.append(1)\n    return len(n)\nsize()\n" + PLAIN.format(size="size()"),
    "n = 5\ndef size(m=n): return m\nn = 6\n" + PLAIN.format(size="size()"),
    "@dataclasses.dataclass\nclass C:\n    n: int = 5\nc = C(9)\n" + PLAIN.format(size="c.n"),
    "@dataclasses.dataclass\nclass C:\n    n: int = 5\nc = C()\nc = dataclasses.replace(c, n=8)\n"
    + PLAIN.format(size="c.n"),
    "@dataclasses.dataclass\nclass C:\n    n: int = 5\n    def __post_init__(self): self.n = 8\nc = C(9)\n"
    + PLAIN.format(size="c.n"),
    "@dataclasses.dataclass\nclass B:\n    m: int = 1\n@dataclasses.dataclass\nclass C(B):\n    n: int = 5\nc = C(9)\n"
    + PLAIN.format(size="c.n"),
    "class C:\n    n = 5\n    if helpers.yes: n = 6\n" + PLAIN.format(size="C.n"),
    "class C:\n    n = 5\n    m = n\n    n = 6\n" + PLAIN.format(size="C.m"),
    "n = 3\nclass C:\n    n = n\n" + PLAIN.format(size="C.n"),
    "class C:\n    n = 5\nclass D(C):\n    n = 6\nC = D\n" + PLAIN.format(size="C.n"),
    "class C:\n    n = 5\n    def __getattribute__(self, name): return 9\nc = C()\n" + PLAIN.format(size="c.n"),
    "class C:\n    n = 5\n    def __new__(cls): return helpers\nc = C()\n" + PLAIN.format(size="c.n"),
    "class C:\n    @property\n    def n(self): return 6\nc = C()\n" + PLAIN.format(size="c.n"),
    "class C:\n    @staticmethod\n    def n(a): return a\n" + PLAIN.format(size="C.n(4)"),
    "class C:\n    @classmethod\n    def n(cls, a): return a\n" + PLAIN.format(size="C.n(4)"),
    "class C:\n    def n(self, a): return a\nc = C()\n" + PLAIN.format(size="c.n(4)"),
    "class C:\n    def n(self, a): return a\nc = C()\nc.n = helpers.six\n" + PLAIN.format(size="c.n(4)"),
    "class C:\n    n = 5\n    def __init__(self): self.n = 6\n" + PLAIN.format(size="C.n"),
    "class C:\n    def __init__(self): self.n = 6\n    def f(self): self.n = 7\nc = C()\n" + PLAIN.format(size="c.n"),
]


class Recorder:
    """A class of torchvision that keeps what it is given."""

    def __init__(self, *given, **named):
        self.size = given[0] if given else named.get("size")


class Compose(Recorder):
    def __init__(self, transforms):
        self.transforms = transforms


class ImageFolder:
    def __init__(self, root, transform=None):
        self.root, self.transform = root, transform


class Loader:
    made = []

    def __init__(self, dataset, batch_size=1, shuffle=False):
        self.dataset, self.batch_size, self.shuffle = dataset, batch_size, shuffle
        Loader.made.append(self)


def helpers():
    """A module that migrate does not read, whose functions change what they are given."""
    made = types.ModuleType("helpers")
    source = """
import contextlib
yes, no, number, key, options, kept = True, False, 13, "bs", {"bs": 9}, None
def change(given): given.bs = 7
def change_dict(given): given["bs"] = 7
def change_kept(): (kept[0] if isinstance(kept, list) else kept).bs = 7
def keep(a):
    global kept
    kept = a
def call(given): given()
def fail(): raise ValueError
def six(*given): return 6
def other(given):
    import argparse
    return argparse.Namespace(size=31, bs=7, root="/other")
def parsed(*given): return other(None)
def parsed_by(self, *given): return other(None)
def defaults(parser): parser.set_defaults(bs=9)
def wrapped(function): return change
class Meta(type):
    def __call__(cls, *given, **named):
        made = super().__call__(*given, **named)
        made.bs = 9
        return made
class Base:
    def __setattr__(self, name, value): super().__setattr__(name, 9 if name == "bs" else value)
@contextlib.contextmanager
def making(given):
    given.bs = 7
    yield
"""
    exec(source, made.__dict__)
    return made


def modules():
    torch, data, utils = types.ModuleType("torch"), types.ModuleType("torch.utils.data"), types.ModuleType("torch.utils")
    vision, datasets, transforms = (types.ModuleType(name) for name in ("torchvision", "torchvision.datasets",
                                                                        "torchvision.transforms"))
    torch.utils, utils.data, data.DataLoader = utils, data, Loader
    vision.datasets, vision.transforms, datasets.ImageFolder = datasets, transforms, ImageFolder
    transforms.Compose = Compose
    for name in ("Resize", "CenterCrop"):
        setattr(transforms, name, type(name, (Recorder,), {}))
    helper = helpers()
    helper.steps = [transforms.CenterCrop(3)]
    return {"torch": torch, "torch.utils": utils, "torch.utils.data": data, "torchvision": vision,
            "torchvision.datasets": datasets, "torchvision.transforms": transforms, "helpers": helper}


def done_by(text):
    """(root, [(operation, size)], batch size, shuffle) of each loader of a script, as it is when the script ends."""
    Loader.made = []
    parse = argparse.ArgumentParser.parse_args
    try:
        with mock.patch.dict(sys.modules, modules()), mock.patch.object(sys, "argv", ["script.py"]):
            exec(compile(text, "script.py", "exec"), {"__name__": "__main__"})
    finally:
        argparse.ArgumentParser.parse_args = parse
    names = {"Resize": "resize", "CenterCrop": "center-crop"}
    return [(made.dataset.root, [(names[type(step).__name__], plain(step.size)) for step in made.dataset.transform.transforms],
             made.batch_size, made.shuffle) for made in Loader.made]


def plain(size):
    return list(size) if isinstance(size, tuple) else size


def told_by(text):
    """The same of each data set that migrate translates without a gap; and how many have gaps."""
    import tomllib
    script = Script(text, "script.py")
    told, gaps = [], 0
    for found in datasets_of(script):
        page = Page(script, "script.py", found)
        made = tomllib.loads(page.text())
        if page.faults:
            gaps += 1
            continue
        operations = [(entry["op"], entry["size"]) for entry in made["output"][0]["ops"]
                      if entry["op"] in ("resize", "center-crop")]
        told.append((made["source"]["uri"], operations, made["batch"]["size"], made["order"]["shuffle"]))
    return told, gaps


class Truth(unittest.TestCase):
    def compare(self, scripts):
        """Returns how many scripts were translated without a gap: a reader that refuses everything tells nothing."""
        whole = 0
        for text in scripts:
            text = START + text
            with self.subTest(text):
                try:
                    done = done_by(text)
                except (Exception, SystemExit):
                    continue  # the script itself fails, so nothing is said about it
                told, _ = told_by(text)
                whole += bool(told)
                for entry in told:
                    self.assertIn(entry, done)
        return whole

    def test_arguments_that_are_changed(self):
        scripts = [ARGUMENTS.format(before="", after=after) for after in AFTER_ARGUMENTS]
        scripts += [ARGUMENTS.format(before=before, after="") for before in BEFORE_ARGUMENTS]
        self.assertGreaterEqual(self.compare(scripts), 5)

    def test_lists_that_are_filled(self):
        scripts = [LIST.format(before=before, after=after, last="") for after in AFTER_LIST for before in ("",)]
        scripts += [LIST.format(before="", after="", last=last) for last in LAST_LIST]
        scripts = [text if "other" in text.partition("steps =")[2]
                   else text.replace("def other():\n    steps.append(T.CenterCrop(3))\n", "")
                   for text in scripts]
        inside = [f"def main():\n{textwrap.indent(text, '    ')}main()\n" for text in scripts if "global" not in text]
        self.assertGreaterEqual(self.compare(scripts + inside), 12)

    def test_functions(self):
        scripts = [FUNCTION.format(body=f"    {body}", given=given) for body, given in BODIES]
        scripts += [text.replace("def helper", "@functools.lru_cache\ndef helper") for text in scripts]
        self.assertGreaterEqual(self.compare(scripts), 15)

    def test_objects(self):
        scripts = [OBJECT.format(base=base, body=body, given=given, after=after) for base, body, given, after in OBJECTS]
        scripts += [text.replace("    def change(self):\n        self.bs = 7\n", "") for text in scripts if ".change" not in text]
        self.assertGreaterEqual(self.compare(scripts), 2)

    def test_dicts(self):
        scripts = [DICT.format(after=after) for after in AFTER_DICT]
        self.assertGreaterEqual(self.compare(scripts), 2)

    def test_other_programs(self):
        self.assertGreaterEqual(self.compare(WHOLE), 16)


if __name__ == "__main__":
    unittest.main()
