"""spdlctl show beside a real daemon: what stands where on the sheet, and what the terminal gets."""
import io
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from ctl_case import FINE, OPTIONS, USAGE, WRONG, Case, Daemon, cases, spdlctl

MARGIN, GLYPH, GAP, SIDE = 16, 10, 4, 64
WIDTH_OF_TWO = 2 * MARGIN + 2 * SIDE + GAP  # of a sheet with two tiles beside each other
COLOURS = {"red": (200, 30, 40), "green": (20, 180, 60), "violet": (120, 40, 220)}
FIRST_COLOUR, SECOND_COLOUR = (255, 64, 64), (64, 200, 255)  # of the boxes of classes 0 and 1

FLAT = """\
name = "flat"
[source]
type = "image-folder"
uri = "pictures"
extensions = "png"
[order]
shuffle = {shuffle}
[[output]]
name = "image"
from = "image"
ops = [{ops}]
[[output]]
name = "label"
from = "class"
[batch]
size = 2
"""
PLAIN = '{ op = "decode-image" }, { op = "resize", size = [64, 64] }'

BOXES = """\
name = "boxes"
[source]
type = "coco"
uri = "coco.json"
images = "coco"
[order]
shuffle = false
[[output]]
name = "image"
from = "image"
view = "v"
ops = [{ op = "decode-image" }, { op = "resize", size = [64, 64] }, { op = "horizontal-flip", p = 1.0 }]
[[output]]
name = "boxes"
from = "boxes"
view = "v"
ops = [{ op = "boxes", format = "xywh", gives = "cxcywh" }]
pad = "longest"
length_max = 9
[[output]]
name = "labels"
from = "labels"
view = "v"
ops = [{ op = "keep-with", of = "boxes" }]
ragged = true
length_max = 9
MASKS
[batch]
size = 1
"""
MASKS = """\
[[output]]
name = "masks"
from = "segmentations"
view = "v"
ops = [{ op = "instance-masks", of = "boxes" }]
ragged = true
length_max = 9
"""


def mixed(below, above, part):
    return tuple(round(b + (a - b) * part) for b, a in zip(below, above))


def tile(sheet, column, top=0, height=SIDE):
    """The pixels of a tile in the first row of tiles of a card that begins at `top`."""
    left, upper = MARGIN + column * (SIDE + GAP), MARGIN + top + 2 * GLYPH
    return sheet[upper:upper + height, left:left + SIDE]


class Show(Case):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        for name, colour in COLOURS.items():
            (cls.folder / "pictures" / name).mkdir(parents=True)
            Image.new("RGB", (64, 64), colour).save(cls.folder / "pictures" / name / "0.png")
        cls.make_coco()
        cls.daemon = Daemon(OPTIONS.daemon)
        cls.addClassCleanup(cls.daemon.close)

    @classmethod
    def make_coco(cls):
        (cls.folder / "coco").mkdir()
        Image.new("RGB", (64, 64), (100, 100, 100)).save(cls.folder / "coco/0.png")
        Image.new("RGB", (64, 32), (10, 20, 30)).save(cls.folder / "coco/1.png")
        square = [8, 20, 38, 20, 38, 50, 8, 50]
        annotations = [{"id": 1, "image_id": 1, "category_id": 7, "bbox": [8, 20, 30, 30], "area": 900, "iscrowd": 0,
                        "segmentation": [square]},
                       {"id": 2, "image_id": 1, "category_id": 9, "bbox": [50, 2, 10, 12], "area": 120, "iscrowd": 0,
                        "segmentation": [[50, 2, 60, 2, 60, 14, 50, 14]]}]
        (cls.folder / "coco.json").write_text(json.dumps({
            "images": [{"id": number + 1, "file_name": f"{number}.png", "width": 64, "height": 64 - 32 * number}
                       for number in range(2)],
            "annotations": annotations, "categories": [{"id": 7, "name": "cat"}, {"id": 9, "name": "d\x1b[31mog"}]}))

    def pipeline(self, text, name="pipeline.toml"):
        (self.folder / name).write_text(text)
        return self.folder / name

    def flat(self, ops=PLAIN, shuffle="false"):
        return self.pipeline(FLAT.format(ops=ops, shuffle=shuffle))

    def ctl(self, *words, env=()):
        return spdlctl(*words, env={**self.daemon.environment(), **dict(env)})

    def sheet(self, pipeline, *words):
        path = self.folder / "sheet.png"
        done = self.ctl("show", pipeline, path, *words)
        self.assert_code(done, FINE)
        with Image.open(path) as picture:
            self.assertEqual(picture.mode, "RGB")
            return np.asarray(picture), done.stdout

    def assert_flat(self, pixels, colour, tolerance=0):
        self.assertEqual(pixels.shape, (SIDE, SIDE, 3))
        self.assertLessEqual(np.abs(pixels.astype(int) - colour).max(), tolerance)

    def test_pictures_of_one_colour_stay_so(self):
        sheet, told = self.sheet(self.flat(), "--samples", 3, "--columns", 1, "--width", WIDTH_OF_TWO)
        self.assertIn(f"3 samples, {sheet.shape[1]} x {sheet.shape[0]} pixels", told)
        self.assertEqual(sheet.shape[1], WIDTH_OF_TWO)
        card = 3 * GLYPH + SIDE + GAP + MARGIN  # a title, the tiles with their names, and the label
        for number, name in enumerate(sorted(COLOURS)):
            for column in (0, 1):
                self.assert_flat(tile(sheet, column, number * card), COLOURS[name])

    def test_normalised_pictures_have_their_colours_again(self):
        for dtype in ("float32", "float16", "bfloat16"):
            for layout in ("NCHW", "NHWC"):
                ops = PLAIN + (', { op = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225], '
                               f'dtype = "{dtype}", layout = "{layout}" }}')
                sheet, _ = self.sheet(self.flat(ops), "--samples", 1, "--width", WIDTH_OF_TWO)
                self.assert_flat(tile(sheet, 1), COLOURS["green"], 1 if dtype != "float32" else 0)

    def test_grey_pictures_and_scaled_ones(self):
        grey = (PLAIN.replace('"decode-image"', '"decode-image", colours = "grey"')
                + ', { op = "convert", dtype = "float32", scale = 0.25 }')
        sheet, _ = self.sheet(self.flat(grey), "--samples", 1, "--width", WIDTH_OF_TWO)
        self.assert_flat(tile(sheet, 0), COLOURS["green"])
        self.assert_flat(tile(sheet, 1), [np.asarray(Image.new("RGB", (1, 1), COLOURS["green"]).convert("L")).item()] * 3)

    def test_before_and_after_are_one_sample(self):
        for epoch in (0, 1):
            pipeline = self.flat(shuffle="true")
            pipeline.write_text(pipeline.read_text().replace("[order]", "[order]\nepochs = 2"))
            sheet, _ = self.sheet(pipeline, "--samples", 3, "--columns", 1, "--width", WIDTH_OF_TWO, "--epoch", epoch)
            card = 3 * GLYPH + SIDE + GAP + MARGIN
            shown = [tuple(tile(sheet, 0, number * card)[0, 0]) for number in range(3)]
            self.assertEqual(sorted(shown), sorted(COLOURS.values()))
            for number, colour in enumerate(shown):
                self.assert_flat(tile(sheet, 1, number * card), colour)

    def test_a_step_is_a_place_in_the_epoch(self):
        sheet, told = self.sheet(self.flat(), "--samples", 9, "--step", 1, "--width", WIDTH_OF_TWO)
        self.assertIn("1 sample,", told)
        self.assert_flat(tile(sheet, 0), COLOURS["violet"])

    def test_a_data_set_smaller_than_a_batch(self):
        pipeline = self.flat()
        pipeline.write_text(pipeline.read_text().replace("size = 2", 'size = 64\nlast = "drop"'))
        _, told = self.sheet(pipeline)
        self.assertIn("3 samples,", told)

    def test_boxes_lie_where_they_are(self):
        sheet, _ = self.sheet(self.pipeline(BOXES.replace("MASKS", "")), "--samples", 1, "--width", WIDTH_OF_TWO)
        for pixels, left, second in ((tile(sheet, 0), 8, 50), (tile(sheet, 1), 64 - 38, 64 - 60)):
            expected = np.full((SIDE, SIDE, 3), 100)
            for (x, y, width, height), colour in (((left, 20, 30, 30), FIRST_COLOUR), ((second, 2, 10, 12), SECOND_COLOUR)):
                expected[y:y + height, x:x + width] = colour
                expected[y + 1:y + height - 1, x + 1:x + width - 1] = 100
            np.testing.assert_array_equal(pixels, expected)

    def test_masks_tint_what_they_cover(self):
        sheet, _ = self.sheet(self.pipeline(BOXES.replace("MASKS", MASKS)), "--samples", 1, "--width", WIDTH_OF_TWO)
        for pixels, x, other in ((tile(sheet, 0), 20, 55), (tile(sheet, 1), 64 - 20, 64 - 55)):
            self.assertEqual(tuple(pixels[35, x]), mixed((100, 100, 100), FIRST_COLOUR, 0.45))
            self.assertEqual(tuple(pixels[8, other]), mixed((100, 100, 100), SECOND_COLOUR, 0.45))
            self.assertEqual(tuple(pixels[60, x]), (100, 100, 100))

    def test_a_sample_without_boxes_and_a_wide_picture(self):
        sheet, _ = self.sheet(self.pipeline(BOXES.replace("MASKS", MASKS)), "--samples", 1, "--step", 1, "--width", WIDTH_OF_TWO)
        self.assertTrue((tile(sheet, 0, height=32) == (10, 20, 30)).all())
        self.assertFalse((tile(sheet, 0)[32:] == (10, 20, 30)).all(axis=2).any())
        self.assert_flat(tile(sheet, 1), (10, 20, 30))

    def test_blocks(self):
        done = self.ctl("show", self.flat(), "--samples", 1, "--terminal", "blocks", "--width", 2 * MARGIN + 2 * 16 + GAP)
        self.assert_code(done, FINE)
        paper, green = "24;24;28", ";".join(map(str, COLOURS["green"]))
        line = f"\x1b[38;2;{green};48;2;{green}m" + "\u2580" * 16
        line += f"\x1b[38;2;{paper};48;2;{paper}m" + "\u2580" * GAP
        line += f"\x1b[38;2;{green};48;2;{green}m" + "\u2580" * 16 + "\x1b[0m\n"
        gap = f"\x1b[38;2;{paper};48;2;{paper}m" + "\u2580" * (2 * 16 + GAP) + "\x1b[0m\n"
        self.assertEqual(done.stdout, "sample 0: green/0.png (before, image)\n" + line * 8 + gap * 2 + "label: 0 (green)\n")

    def test_pictures_for_terminals(self):
        kitty = self.ctl("show", self.flat(), "--samples", 1, "--terminal", "kitty").stdout
        self.assertTrue(kitty.startswith("\x1b_Gf=100,a=T,q=2,m="), kitty[:40])
        sixel = self.ctl("show", self.flat(), "--samples", 1, "--terminal", "sixel").stdout
        self.assertTrue(sixel.startswith("\x1bPq\"1;1;"), sixel[:40])

    def test_names_do_not_steer_the_terminal(self):
        done = self.ctl("show", self.pipeline(BOXES.replace("MASKS", "")), "--samples", 1, "--terminal", "blocks")
        self.assert_code(done, FINE)
        self.assertIn("boxes: 2 (1 x cat, 1 x d", done.stdout)
        self.assertNotIn("\x1b[31m", done.stdout)

    def test_what_is_no_picture_is_named(self):
        text = FLAT.format(ops=PLAIN, shuffle="false")
        pipeline = self.pipeline(text[:text.index("[[output]]")] + text[text.index('[[output]]\nname = "label"'):])
        done = self.ctl("show", pipeline, "--samples", 2, "--terminal", "blocks")
        self.assertEqual(done.stdout, "sample 0: green/0.png\nlabel: 0 (green)\nsample 1: red/0.png\nlabel: 1 (red)\n")
        self.sheet(pipeline)

    def test_grey_pictures_of_16_bits_use_all_shades(self):
        (self.folder / "deep/a").mkdir(parents=True)
        values = np.linspace(2000, 3000, SIDE).astype(np.uint16)
        Image.fromarray(np.tile(values, (SIDE, 1))).save(self.folder / "deep/a/0.png")
        ops = ('{ op = "decode-image", colours = "grey", bits = 16 }, { op = "resize", size = [64, 64] }, { op = "convert", '
               'dtype = "uint16" }')
        pipeline = self.pipeline(FLAT.format(ops=ops, shuffle="false").replace('"pictures"', '"deep"'))
        sheet, _ = self.sheet(pipeline, "--samples", 1, "--width", WIDTH_OF_TWO)
        for column in (0, 1):
            shades = tile(sheet, column)[:, :, 0].astype(int)
            self.assertEqual((shades.min(), shades.max()), (0, 255))
            self.assertLessEqual(np.abs(shades - np.round((values.astype(int) - 2000) / 1000 * 255)).max(), 1)

    def test_masks_of_classes(self):
        for name in ("images", "masks"):
            (self.folder / "pairs" / name).mkdir(parents=True)
        Image.new("RGB", (64, 32), (100, 100, 100)).save(self.folder / "pairs/images/a.png")
        mask = np.zeros((32, 64), np.uint8)
        mask[8:24, 10:30], mask[8:24, 40:60] = 1, 255
        Image.fromarray(mask).save(self.folder / "pairs/masks/a.png")
        text = BOXES[:BOXES.index('[[output]]\nname = "boxes"')].replace('type = "coco"', 'type = "image-pairs"').replace(
            '"coco.json"', '"pairs"')
        text = text.replace('images = "coco"', 'images = "images"\nmasks = "masks"\nnames = ["ground", "thing"]').replace(
            "[64, 64]", "[32, 64]")
        text += ('[[output]]\nname = "classes"\nfrom = "mask"\nview = "v"\n'
                 'ops = [{ op = "decode-mask", dtype = "int64", fill = 255 }]\n')
        sheet, _ = self.sheet(self.pipeline(text + "[batch]\nsize = 1\n"), "--width", WIDTH_OF_TWO)
        grey = (100, 100, 100)
        for pixels, thing, untold in ((tile(sheet, 0, height=32), 20, 50), (tile(sheet, 1, height=32), 43, 13)):
            self.assertEqual(tuple(pixels[2, 2]), grey)
            self.assertEqual(tuple(pixels[16, thing]), mixed(grey, FIRST_COLOUR, 0.45))
            self.assertEqual(tuple(pixels[16, untold]), mixed(grey, (255, 255, 255), 0.45))
        self.assertTrue((tile(sheet, 0)[33:] == (24, 24, 28)).all())  # the paper around a wide picture is not tinted

    def test_several_pictures_of_a_sample(self):
        ops = '{ op = "decode-image" }, { op = "five-crop", size = 20 }'
        sheet, _ = self.sheet(self.flat(ops), "--samples", 1, "--width", 2 * MARGIN + 6 * 20 + 5 * GAP)
        self.assertEqual((sheet == COLOURS["green"]).all(axis=2).sum(), 6 * 20 * 20)
        self.assertEqual(sheet.shape, (2 * MARGIN + 2 * GLYPH + 20 + GAP + GLYPH, 2 * MARGIN + 6 * 20 + 5 * GAP, 3))

    def test_frames_of_an_animation_whose_channels_come_first(self):
        frames = [Image.new("RGB", (64, 64), colour) for colour in COLOURS.values()]
        (self.folder / "moving" / "one").mkdir(parents=True)
        frames[0].save(self.folder / "moving/one/a.gif", save_all=True, append_images=frames[1:], duration=100)
        ops = '{ op = "decode-image", frames = 3 }, { op = "resize", size = [64, 64] }, { op = "convert", layout = "NCTHW" }'
        text = FLAT.format(ops=ops, shuffle="false").replace('"pictures"', '"moving"').replace('"png"', '"gif"').replace(
            "size = 2", "size = 1")
        sheet, _ = self.sheet(self.pipeline(text), "--samples", 1, "--width", 2 * MARGIN + 4 * SIDE + 3 * GAP)
        for i, colour in enumerate(COLOURS.values()):
            self.assertTrue((np.abs(tile(sheet, i + 1).astype(int) - colour) <= 1).all(), i)

    def test_the_trainer_sets_the_order(self):
        sheet, told = self.sheet(self.flat(shuffle='"client"'), "--width", WIDTH_OF_TWO)
        self.assertIn("2 samples,", told)
        self.assert_flat(tile(sheet, 1), COLOURS["green"])

    def test_stdout(self):
        done = subprocess.run([OPTIONS.ctl, "show", self.flat(), "-", "--samples", "1"], capture_output=True, timeout=60,
                              env=self.daemon.environment())
        with Image.open(io.BytesIO(done.stdout)) as picture:
            self.assertEqual(picture.format, "PNG")

    def test_json(self):
        path = self.folder / "other.png"
        done = self.ctl("show", self.flat(), path, "-o", "json", "--samples", 1)
        with Image.open(path) as picture:
            self.assertEqual(json.loads(done.stdout), {"file": str(path), "samples": 1, "width": picture.width,
                                                       "height": picture.height})

    def test_nothing_is_kept_and_no_pipeline_stays_busy(self):
        self.sheet(self.flat())
        status = json.loads(self.ctl("status", "-o", "json").stdout)
        self.assertEqual([pipeline["rings"] for pipeline in status["pipelines"] if pipeline["rings"]], [])
        self.assertEqual([shelf for shelf in status["cache"]["shelves"] if shelf["memory_bytes"]], [])

    def test_only_pictures_are_written_over(self):
        other = self.folder / "notes.txt"
        other.write_text("mine")
        done = self.ctl("show", self.flat(), other)
        self.assert_sentence(done, WRONG)
        self.assertIn("is no PNG file", done.stderr)
        self.assertEqual(other.read_text(), "mine")
        self.assert_code(self.ctl("show", self.flat(), other, "--force"), FINE)
        self.assertEqual(other.read_bytes()[:4], b"\x89PNG")
        self.assert_code(self.ctl("show", self.flat(), other), FINE)
        self.assertEqual([path for path in self.folder.iterdir() if ".part-" in path.name], [])

    def test_errors_are_one_sentence(self):
        sheet = self.folder / "new.png"
        broken = self.pipeline("name = 3\n", "broken.toml")
        for words, code, part in (((self.flat(),), USAGE, "is no terminal"),
                                  (("train", sheet), USAGE, "takes a pipeline file"),
                                  ((self.folder / "none.toml", sheet), WRONG, "can't be read"),
                                  ((self.flat(), sheet, "--epoch", 5), WRONG, "past the end"),
                                  ((self.flat(), sheet, "--width", 30), USAGE, "a larger --width"),
                                  ((self.flat(), sheet, "--samples", 65), USAGE, "--samples"),
                                  ((self.flat(), self.folder / "no/folder.png"), WRONG, "can't be written")):
            done = self.ctl("show", *words)
            self.assert_sentence(done, code)
            self.assertIn(part, done.stderr)
            self.assertFalse(sheet.exists())
        done = self.ctl("show", broken, sheet)
        self.assert_code(done, WRONG)
        self.assertIn("broken.toml:1: name", done.stderr)


if __name__ == "__main__":
    cases.main()
