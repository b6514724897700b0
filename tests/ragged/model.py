"""A slow model of the daemon, in plain Python: what a batch must hold, for the ids of the samples that are in it."""
import numpy as np


class Bad(Exception):
    """The sample's content is bad."""


class TooLong(Exception):
    """The sample is to be left out."""


def type_of(op):
    """The type and the shape of one value that the operation gives."""
    if op["op"] == "parse-list":
        return np.dtype(op["dtype"]), (op["width"],) if op.get("width") else ()
    if op["op"] == "parse-npy":
        return np.dtype(op["dtype"]), tuple(op["shape"])
    return np.dtype(np.uint8), ()


class Model:
    def __init__(self, spec, data):
        self.spec, self.data = spec, data
        self.masks = spec.get("on_bad") == "mask"
        self.verdicts = [self._verdict(sample) for sample in range(len(data))]

    def _verdict(self, sample):
        """"good", "bad" or "too_long", as the first output that fails says."""
        try:
            for output in self.spec["output"]:
                self.value(output, sample)
            return "good"
        except Bad:
            return "bad"
        except TooLong:
            return "too_long"

    def value(self, output, sample):
        """The sample's part of an output, before padding."""
        content = self.data.content(sample, output["from"])
        op = output["ops"][0]
        if op["op"] == "parse-int":
            if not content.lstrip(b"-").isdigit():
                raise Bad
            return np.int64(int(content))
        dtype, rest = type_of(op)
        if op["op"] in ("parse-list", "parse-npy"):
            return self._cut(output, np.array(content, dtype).reshape((len(content), *rest)))
        values = np.frombuffer(content, np.uint8)
        if op["op"] == "pad-bytes":
            if len(values) > op["length"]:
                raise Bad
            return np.pad(values, (0, op["length"] - len(values)))
        return self._cut(output, values)

    @staticmethod
    def _cut(output, values):
        if len(values) <= output["length_max"]:
            return values
        too_long = output.get("too_long", "bad")
        if too_long == "cut":
            return values[:output["length_max"]]
        raise TooLong if too_long == "leave-out" else Bad

    def of(self, sample_ids):
        """Every tensor of a batch of these samples, by name. A ragged output is a pair: values and offsets."""
        there = [self.verdicts[sample] == "good" for sample in sample_ids]
        if not self.masks:
            assert all(there), "a bad sample was handed out"
        tensors = {"sample_id": np.array(sample_ids, np.int64)}
        if self.masks:
            tensors["mask"] = np.array(there, np.uint8)
        for output in self.spec["output"]:
            tensors.update(self._tensors(output, [(sample, good) for sample, good in zip(sample_ids, there)]))
        return tensors

    def _tensors(self, output, samples):
        op = output["ops"][0]["op"]
        if op == "parse-int":
            return {output["name"]: np.array([self.value(output, s) if good else 0 for s, good in samples], np.int64)}
        if op == "pad-bytes":
            empty = np.zeros(output["ops"][0]["length"], np.uint8)
            rows = [self.value(output, s) if good else empty for s, good in samples]
            return {output["name"]: np.array(rows, np.uint8).reshape(len(rows), len(empty))}
        dtype, rest = type_of(output["ops"][0])
        empty = np.zeros((0, *rest), dtype)
        rows = [self.value(output, s) if good else empty for s, good in samples]
        lengths = np.array([len(row) for row in rows], np.int64)
        if output.get("ragged"):
            return {output["name"]: (np.concatenate([empty, *rows]), np.concatenate([[0], np.cumsum(lengths)]))}
        return self._padded(output, rows, lengths, empty)

    @staticmethod
    def _padded(output, rows, lengths, empty):
        multiple = output.get("pad_multiple", 1)
        longest = max(lengths, default=0)
        width = min(-(-longest // multiple) * multiple, output["length_max"])
        filled = np.full((len(rows), width, *empty.shape[1:]), output.get("pad_value", 0), empty.dtype)
        for row, values in zip(filled, rows):
            row[:len(values)] = values
        tensors = {output["name"]: filled}
        if "lengths" in output:
            tensors[output["lengths"]] = lengths
        if "pad_mask" in output:
            tensors[output["pad_mask"]] = np.arange(width)[None, :] < lengths[:, None]
        return tensors

    def check_epoch(self, sample_ids, world):
        """Of all ranks of one epoch together: every sample came once, and bad ones are masked or substituted."""
        last, samples = self.spec["batch"]["last"], len(self.data)
        step = self.spec["batch"]["size"] * world
        count = {"short": samples, "drop": samples - samples % step, "pad": -(-samples // step) * step}[last]
        assert len(sample_ids) == count, f"{len(sample_ids)} samples came, and not {count}"
        times = {sample: sample_ids.count(sample) for sample in range(samples)}
        bad = {sample for sample in range(samples) if self.verdicts[sample] != "good"}
        most = 1 if last != "pad" else 1 + -(-(count - samples) // samples)
        least = 1 if last != "drop" else 0
        for sample, came in times.items():
            if self.masks or not bad:
                assert least <= came <= most, f"sample {sample} came {came} times"
            elif sample in bad:
                assert came == 0, f"sample {sample} is bad, and came"
            else:
                assert came >= least, f"sample {sample} did not come"
        return times
