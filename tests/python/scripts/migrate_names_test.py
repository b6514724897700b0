"""What a script's names stand for: a name with another meaning than torchvision's, or one that may have another, is a gap."""
import ast
import textwrap
import unittest

from spdld._script import Script
from spdld._transforms import converted
from spdld.migrate import Page, datasets_of

START = """\
import os
import torch
import torchvision
import torchvision.transforms as T
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import Compose, Resize
"""
END = """
data = ImageFolder("/data", T.Compose([T.Resize((20, 20))]))
loader = DataLoader(data, batch_size=4)
"""
# What is put before `made = Compose([Resize(40)])`, or in its place.
OTHERS = [
    "class Resize: pass\n", "class Resize(T.Resize): pass\n", "def Resize(size): return T.CenterCrop(size)\n",
    "Resize = T.CenterCrop\n",
    "if x:\n    Resize = T.CenterCrop\n", "from mine import Resize\n", "from .mine import Resize\n", "import mine as Resize\n",
    "try:\n    from mine import Resize\nexcept ImportError:\n    pass\n", "for Resize in steps: pass\n",
    "with open('x') as Resize: pass\n",
    "try: pass\nexcept OSError as Resize: pass\n", "(Resize := T.CenterCrop)\n", "Resize, other = T.CenterCrop, 3\n",
    "del Resize\n", "def change():\n    global Resize\n    Resize = T.CenterCrop\n", "from mine import *\n",
    "from torchvision.transforms.v2 import *\n", "match x:\n    case [Resize]: pass\n", "[Resize := y for y in z]\n",
    "Resize += 1\n",
]
# Lines that give torchvision's own class another meaning, by whatever name it is called.
PATCHES = [
    "T.Resize = T.CenterCrop\n", "torchvision.transforms.Resize = T.CenterCrop\n", "torchvision.transforms = mine\n",
    "T.Resize.forward = lambda self, picture: picture\n", "setattr(T, 'Resize', T.CenterCrop)\n",
    "setattr(T, name, T.CenterCrop)\n",
    "delattr(torchvision.transforms, 'Resize')\n", "T.__dict__['Resize'] = T.CenterCrop\n",
    "torchvision.transforms.transforms.Resize = 3\n",
]
# Lines that may change any name, so that the whole file has a gap.
DOUBTS = ["exec(open('settings.py').read())", "globals()['Resize'] = 3", "g = globals()", "globals().update(x)",
          "vars()['Resize'] = 3", "vars(torchvision.transforms)['Resize'] = 3", "import sys\nsys.modules['torchvision'] = mine",
          "import importlib\nimportlib.reload(torchvision)",
          "from unittest import mock\nmock.patch('torchvision.transforms.Resize')"]
# Lines that may change a list, a transform or a data set after it was made.
CHANGES = [
    "other = steps\nother.append(T.ToTensor())", "steps[0] = T.CenterCrop(3)", "steps += [T.ToTensor()]", "del steps[0]",
    "steps.shuffle()",
    "made.transforms.append(T.ToTensor())", "made.transforms[0].size = 7", "other = made.transforms\nother.pop()",
    "change(steps)",
    "change([made])", "change(all=dict(x=made))", "kept.all = steps\nkept.all.pop()", "kept['x'] = made",
    "def give(): return made",
    "for step in made.transforms:\n    step.size = 7", "for step in steps: step.size = 7",
    "[change(step) for step in made.transforms]",
    "first = steps[0]\nfirst.size = 7", "both = [made, made]\nboth[0].transforms.pop()", "setattr(made, 'transforms', [])",
    "data = ImageFolder('/a', made)\ndata.transform.transforms.insert(0, T.CenterCrop(3))",
    "T.Compose(steps).transforms.append(3)",
    "(lambda: made)()", "pair = (made, 3)\nchange(pair)", "def own():\n    steps.append(3)", "with made as x: pass",
]
# Lines that change nothing.
HARMLESS = [
    "print(made, len(steps))", "torch.backends.cudnn.benchmark = True", "class Net(torch.nn.Module):\n    size = 3",
    "if made: pass",
    "def other():\n    Resize = 3\n    T = 4\n    steps = []\n    steps.append(3)\n    return steps", "logger.info('%s', made)",
    "made(picture)",
    "count = len(made.transforms)", "print(f'{made}')", "x = [step for step in made.transforms]", "args = vars(parser)",
    "y = globals()['x']", "import torchvision.transforms.functional", "from torchvision.transforms import Resize", "os.x = 3",
    "def f(T): return T.Resize(3)", "lambda Resize: Resize", "[Resize for Resize in x]", "T: object", "steps == made.transforms",
]


def read(text):
    """The operations that `made` stands for in a script, and the gaps."""
    script = Script(START + text, "script.py")
    made = [node for node in script.nodes(ast.Assign) if isinstance(node.targets[0], ast.Name) and node.targets[0].id == "made"]
    faults = []
    operations = converted(made[-1].value, script.transform, faults, "made")
    return operations, faults, script


class Names(unittest.TestCase):
    def test_a_name_with_another_meaning_is_a_gap(self):
        cases = [(line, "Compose([Resize(40)])") for line in OTHERS + PATCHES] + [(line, "T.Compose([T.Resize(40)])")
                                                                                  for line in PATCHES]
        for line, expression in cases:
            made = f"made = {expression}\n"
            for text in (line + made, made + line):
                if "mine import *" in line and text.startswith("from"):
                    continue  # what stands behind it counts
                with self.subTest(text):
                    operations, faults, _ = read(text)
                    self.assertEqual((len(faults), len(operations)), (1, 1))

    def test_what_may_change_any_name_is_a_gap_of_the_file(self):
        for line in DOUBTS:
            with self.subTest(line):
                script = Script(START + END + line + "\n", "script.py")
                page = Page(script, "script.py", datasets_of(script)[0])
                page.text()
                self.assertGreaterEqual(len(page.faults), 1)
                self.assertRegex(page.faults[0], r"^line \d+ of script.py: .*(any name another meaning|modules are replaced)")

    def test_what_is_changed_later_is_a_gap(self):
        for line in CHANGES:
            with self.subTest(line):
                script = Script(START + "steps = [T.Resize(40)]\nmade = T.Compose(steps)\n" + line + "\n"
                                + 'used = ImageFolder("/data", made)\nloader = DataLoader(used, batch_size=4)\n', "script.py")
                found = next(entry for entry in datasets_of(script) if entry.bound is not None and entry.bound.id == "used")
                page = Page(script, "script.py", found)
                page.text()
                self.assertEqual(len(page.faults), 1, page.faults)

    def test_what_changes_nothing_is_no_gap(self):
        for line in HARMLESS:
            with self.subTest(line):
                script = Script(START + "steps = [T.Resize((40, 40))]\nmade = T.Compose(steps)\n" + line + "\n"
                                + 'used = ImageFolder("/data", made)\nloader = DataLoader(used, batch_size=4)\n', "script.py")
                page = Page(script, "script.py", datasets_of(script)[0])
                page.text()
                self.assertEqual(page.faults, [])

    def test_names_follow_pythons_scopes(self):
        text = textwrap.dedent("""
            SIZE = 20
            t = T
            class Own:
                SIZE = 30
                def use(self):
                    crop = t.CenterCrop
                    train = ImageFolder("/data", Compose([crop(SIZE)]))
                    return DataLoader(train, batch_size=4)
            def other():
                SIZE = 40
                val = ImageFolder("/data", Compose([t.CenterCrop(SIZE)]))
                return DataLoader(val, batch_size=SIZE)
            """)
        script = Script(START + text, "script.py")
        pages = [Page(script, "script.py", found) for found in datasets_of(script)]
        texts = [page.text() for page in pages]
        self.assertEqual([page.faults for page in pages], [[], []])
        self.assertIn('op = "center-crop", size = 20', texts[0])
        self.assertIn('op = "center-crop", size = 40', texts[1])

    def test_members_of_modules_are_no_values(self):
        for expression in ("config.SIZE", "config.SIZE * 2", "-config.SIZE", "int(config.SIZE)", "str(config.SIZE)",
                           "list(config.SIZE)", "os.path.join(config.SIZE, 'a')", "[config.SIZE, 3]", "config.SIZE + 'a'"):
            for call in ("Resize({})", "T.CenterCrop({})", "T.RandomRotation({})", "T.Pad({})", "T.RandomRotation(3, fill={})",
                         "Resize(3, interpolation={})", "T.RandomRotation(3, expand={})"):
                with self.subTest(call.format(expression)):
                    _, faults, _ = read(f"import config\nmade = T.Compose([{call.format(expression)}])\n")
                    self.assertEqual(len(faults), 1)

    def test_enumerators_of_other_modules_are_gaps(self):
        for expression in ("mine.InterpolationMode.BICUBIC", "mine.BICUBIC", "InterpolationMode.BICUBIC", "'bicubic'",
                           "torch.BICUBIC",
                           "T.BICUBIC", "T.InterpolationMode(bicubic)", "T.InterpolationMode('BICUBIC')",
                           "T.InterpolationMode(3)", "PIL.Image.BICUBIC"):
            with self.subTest(expression):
                _, faults, _ = read("import mine\nfrom mine import InterpolationMode\n"
                                    f"made = T.Compose([Resize(3, {expression})])\n")
                self.assertEqual(len(faults), 1)

    def test_members_that_are_no_calls_of_classes_are_gaps(self):
        for member in ("Resize", "T.Resize", "T.Resize(3) if x else T.Resize(4)", "*steps", "make()", "T.functional.resize", "3",
                       "None",
                       "[Resize(3)]", "functools.partial(T.Resize, 3)()", "getattr(T, 'Resize')(3)", "T.Resize(*sizes)",
                       "T.Resize(**sizes)",
                       "T.Resize(3, size=4)", "T.Resize(3)(4)", "T.transforms.Resize.Resize(3)", "T.Resizes(3)",
                       "mine.transforms.Resize(3)"):
            with self.subTest(member):
                try:
                    operations, faults, _ = read(f"made = T.Compose([{member}])\n")
                except SyntaxError:
                    continue
                self.assertEqual((len(faults), len(operations)), (1, 1))


if __name__ == "__main__":
    unittest.main()
