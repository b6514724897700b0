"""random-erasing beside torchvision's RandomErasing: its boxes, what is written into them, and what is left alone."""
import unittest

import numpy as np
import torch
from case import DaemonCase
from torchvision.transforms import RandomErasing

HEIGHT, WIDTH = 40, 56
DRAWS = 24_000  # samples of the pictures, epoch after epoch
SIGNIFICANCE = 1.95  # of a two-sample Kolmogorov-Smirnov test: 0.1 %


def outputs(**erasing):
    picture = [{"op": "decode-image"}, {"op": "resize", "size": [HEIGHT, WIDTH]}]
    end = {"op": "normalize", "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25], "layout": erasing.pop("layout", "NCHW"),
           "dtype": erasing.pop("dtype", "float32")}
    return [{"name": "plain", "from": "image", "ops": picture + [end]},
            {"name": "erased", "from": "image", "ops": picture + [end, {"op": "random-erasing", **erasing}]}]


def box_of(differs):
    """Upper edge, left edge, height and width of the true values, which must be a full box; none where there are none."""
    rows, columns = np.flatnonzero(differs.any(axis=1)), np.flatnonzero(differs.any(axis=0))
    if rows.size == 0:
        return None
    assert differs[rows[0]:rows[-1] + 1, columns[0]:columns[-1] + 1].all(), "the difference is no box"
    return rows[0], columns[0], rows.size, columns.size


def apart(ours, theirs):
    """The greatest distance between two distribution functions, times the root that makes it comparable."""
    places = np.unique(np.concatenate([ours, theirs]))
    one = np.searchsorted(np.sort(ours), places, "right") / len(ours)
    other = np.searchsorted(np.sort(theirs), places, "right") / len(theirs)
    return np.abs(one - other).max() * np.sqrt(len(ours) * len(theirs) / (len(ours) + len(theirs)))


def chi_squared(ours, theirs):
    """Of the boxes as a whole, counted in cells of so many pixels that have enough of them; and its degrees of freedom."""
    cells, numbers = np.unique(np.concatenate([ours, theirs]) // 8, axis=0, return_inverse=True)
    one, other = (np.bincount(part, minlength=len(cells)) for part in np.split(numbers.ravel(), 2))
    full = one + other >= 20
    one, other = (np.append(counts[full], counts[~full].sum()) for counts in (one, other))
    return ((one - other) ** 2 / (one + other)).sum(), len(one) - 1


class Erasing(DaemonCase):
    def pairs(self, count, **erasing):
        """Samples as they were before random-erasing, and after it."""
        spec = self.spec(output=outputs(**erasing), batch={"size": 24}, order={"epochs": 0})
        with self.attach(spec, group=f"{self.id()} {erasing}") as loader:
            while count > 0:
                for batch in loader:
                    for plain, erased in zip(np.array(batch["plain"]), np.array(batch["erased"])):
                        if count > 0:
                            yield plain, erased
                        count -= 1
                    if count <= 0:
                        return

    def test_boxes_follow_torchvisions_distribution(self):
        ours = [box_of((erased == 9).all(axis=0)) for _, erased in self.pairs(DRAWS, p=1.0, value=9.0)]
        self.assertNotIn(None, ours)
        torch.manual_seed(5)
        picture, scale, ratio = torch.zeros(3, HEIGHT, WIDTH), (0.02, 0.33), (0.3, 3.3)
        theirs = [RandomErasing.get_params(picture, scale, ratio, [9.0])[:4] for _ in range(DRAWS)]
        ours, theirs = np.array(ours), np.array(theirs)
        for number, name in enumerate(["upper edge", "left edge", "height", "width"]):
            self.assertLess(apart(ours[:, number], theirs[:, number]), SIGNIFICANCE, name)
        statistic, freedom = chi_squared(ours, theirs)
        self.assertGreater(freedom, 100)
        self.assertLess(statistic, freedom + 3.1 * np.sqrt(2 * freedom), f"{freedom} degrees of freedom")

    def test_the_box_alone_is_written(self):
        for layout, dtype in (("NCHW", "float32"), ("NHWC", "float32"), ("NHWC", "float16"), ("NCHW", "float16")):
            seen = 0
            for plain, erased in self.pairs(200, p=0.5, value=[7, 8, 9], layout=layout, dtype=dtype):
                if layout == "NCHW":
                    plain, erased = plain.transpose(1, 2, 0), erased.transpose(1, 2, 0)
                box = box_of((erased == np.array([7, 8, 9], erased.dtype)).all(axis=2))
                if box is not None:
                    y, x, height, width = box
                    seen += 1
                    plain = plain.copy()
                    plain[y:y + height, x:x + width] = erased[y:y + height, x:x + width]
                np.testing.assert_array_equal(plain, erased)
            self.assertTrue(60 < seen < 140, f"{seen} of 200 erased with probability 0.5")

    def test_noise_is_normal(self):
        values, colours = [], []
        for plain, erased in self.pairs(400, p=1.0, noise="pixel"):
            values.append(erased[plain != erased])
        values = np.concatenate(values)
        self.assertGreater(values.size, 100_000)
        expected = np.random.default_rng(3).normal(size=values.size)
        self.assertLess(apart(values[:100_000], expected[:100_000]), SIGNIFICANCE)
        self.assertLess(abs(np.corrcoef(values[:-1], values[1:])[0, 1]), 5 / np.sqrt(values.size))
        for plain, erased in self.pairs(400, p=1.0, noise="channel"):
            for channel in range(3):
                written = np.unique(erased[channel][plain[channel] != erased[channel]])
                self.assertEqual(written.size, 1)
                colours.append(written[0])
        self.assertLess(apart(np.array(colours), expected[:100_000]), SIGNIFICANCE)


if __name__ == "__main__":
    unittest.main()
