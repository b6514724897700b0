"""WebDatasets whose members differ in length, and what is in them."""
import io
import json
import tarfile

import numpy as np

NUMBER_TEXTS = ("7", "-12", "0", "123456789012")


class RaggedArchives:
    """Some archives of samples, each with the members `bin` (bytes), `num` (a number in digits), `lst` (numbers in digits), `npy`
    (an array of rows of 3 float32) and `json` (a text, and a list of pairs)."""

    def __init__(self, random, folder, samples, damaged, texts=None):
        #: By sample: its members' bytes.
        self.bins, self.numbers, self.texts, self.lists, self.pairs, self.arrays = [], [], [], [], [], []
        longest = random.choice([1, 5, 40, 300])
        for sample in range(samples):
            size = random.choice([longest, random.randint(1, longest), random.randint(1, longest)])
            self.bins.append(random.randbytes(size))
            self.numbers.append(b"no number" if damaged and random.random() < 0.15 else random.choice(NUMBER_TEXTS).encode())
            text = "".join(random.choice("abc\u00e4") for _ in range(random.randint(0, 9)))
            self.texts.append(text if texts is None else texts[sample])
            self.lists.append([random.randint(-99, 99) for _ in range(random.randint(1, 12))])
            self.pairs.append([[random.randint(0, 99) for _ in range(2)] for _ in range(random.randint(0, 7))])
            rows = [[random.random() for _ in range(3)] for _ in range(random.randint(0, 9))]
            self.arrays.append(np.array(rows, np.float32).reshape(-1, 3))
        archives = random.randint(1, min(3, samples))
        self.paths = []
        for archive in range(archives):
            path = folder / f"{archive}.tar"
            first, last = samples * archive // archives, samples * (archive + 1) // archives
            self._write(path, range(first, last))
            self.paths.append(str(path))

    def _write(self, path, samples):
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
            for sample in samples:
                for suffix, content in self._members(sample):
                    entry = tarfile.TarInfo(f"{sample:05}.{suffix}")
                    entry.size = len(content)
                    tar.addfile(entry, io.BytesIO(content))

    def __len__(self):
        return len(self.bins)

    def _members(self, sample):
        document = {"text": self.texts[sample], "pairs": self.pairs[sample]}
        array = io.BytesIO()
        np.save(array, self.arrays[sample])
        yield "bin", self.bins[sample]
        yield "num", self.numbers[sample]
        yield "lst", ", ".join(map(str, self.lists[sample])).encode()
        yield "npy", array.getvalue()
        yield "json", json.dumps(document, ensure_ascii=False).encode()

    def content(self, sample, field):
        """What an output with this `from` starts with: bytes, a list, or an array."""
        if field == "json:text":
            return self.texts[sample].encode()
        fields = {"bin": self.bins, "num": self.numbers, "lst": self.lists, "json:pairs": self.pairs, "npy": self.arrays}
        return fields[field][sample]
