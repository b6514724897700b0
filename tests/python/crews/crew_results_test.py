"""Results of Python operations: the kinds of values that fit `gives`, and the sentences for those that do not."""
import struct

from crew_case import BYTES, CrewCase, errand, tensor

VALUES = """
    import decimal
    import numpy
    import torch
    from PIL import Image

    class Own:
        def __array__(self, dtype=None):
            return numpy.arange(6, dtype=numpy.float32).reshape(2, 3)

    wide = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    values = {
        b"array": wide,
        b"columns": numpy.asfortranarray(wide),
        b"every second": numpy.arange(24, dtype=numpy.float32).reshape(4, 6)[::2, ::2],
        b"list": [[0, 1, 2], [3, 4.0, True]],
        b"tuple": ((0, 1, 2), (3, 4, 5)),
        b"torch": torch.arange(6.0).reshape(2, 3),
        b"torch columns": torch.arange(6.0).reshape(3, 2).t(),
        b"grad": torch.arange(6.0, requires_grad=True).reshape(2, 3) * 2,
        b"own": Own(),
        b"float64": wide.astype(numpy.float64),
        b"other way round": wide.astype(">f4"),
        b"flat": wide.ravel(),
        b"long": numpy.zeros((2, 4), dtype=numpy.float32),
        b"both": numpy.zeros((3, 10)),
        b"meta": torch.zeros(2, 3, device="meta"),
        b"sparse": torch.eye(3)[:2].to_sparse(),
        b"text": "abc",
        b"none": None,
        b"dict": {"a": 1},
        b"uneven": [[1, 2], [3]],
        b"words": [["a", "b", "c"], ["d", "e", "f"]],
        b"scalar": numpy.float64(3),
        b"decimal": decimal.Decimal(3),
    }
    def value(data):
        return values[data]
    """


class Arrays(CrewCase):
    def given(self, name):
        reply = self.daemon.call(name, room=100)
        return struct.unpack("<6f", reply["data"]) if reply["kind"] == "done" else reply["text"]

    def test_values_of_many_kinds_fit(self):
        self.begin(VALUES, errand("made:value", gives=tensor("float32", 2, None)))
        for name in (b"array", b"columns", b"torch", b"own", b"tuple"):
            self.assertEqual(self.given(name), (0, 1, 2, 3, 4, 5), name)
        self.assertEqual(self.given(b"list"), (0, 1, 2, 3, 4, 1))
        self.assertEqual(self.given(b"every second"), (0, 2, 4, 12, 14, 16))
        self.assertEqual(self.given(b"torch columns"), (0, 2, 4, 1, 3, 5))
        self.assertEqual(self.given(b"grad"), (0, 2, 4, 6, 8, 10))

    def test_what_does_not_fit_is_told_with_both_sides(self):
        self.begin(VALUES, errand("made:value", gives=tensor("float32", 2, 3)))
        says = "and `gives` says float32 [2, 3]: return such an array, or correct `gives`"
        for name, words in (
                (b"float64", f"float64 [2, 3], {says}"),
                (b"other way round", f">f4 [2, 3], {says}"),
                (b"flat", f"float32 [6], {says}"),
                (b"long", f"float32 [2, 4], {says}"),
                (b"both", f"float64 [3, 10], {says}"),
                (b"scalar", f"float64 [], {says}"),
                (b"meta", "a tensor on meta: write .cpu() behind what it returns"),
                (b"sparse", "a tensor of the layout torch.sparse_coo: write .to_dense() behind what it returns"),
                (b"text", "a value of the type str: return an array of numpy, a tensor of torch, a picture of PIL, a number or "
                 "a list of numbers"),
                (b"none", "a value of the type NoneType: return an array of numpy, a tensor of torch, a picture of PIL, a "
                 "number or a list of numbers"),
                (b"decimal", "a value of the type decimal.Decimal: return an array of numpy, a tensor of torch, a picture of "
                 "PIL, a number or a list of numbers"),
                (b"uneven", "a list of lists that differ in length: return an array"),
                (b"words", "a list that holds other things than numbers: return an array of numbers")):
            self.assertEqual(self.given(name), f"made:value gave {words}", name)

    def test_any_is_said_of_what_differs_from_sample_to_sample(self):
        self.begin(VALUES, errand("made:value", gives=tensor("uint8", 3, None)))
        self.assertEqual(self.given(b"flat"), "made:value gave float32 [6], and `gives` says uint8 [3, any]: return such an "
                         "array, or correct `gives`")

    def test_numbers_of_python_must_hold_in_the_type(self):
        daemon = self.begin("values = [3, True, 2.5, 300, -1, 4.0]\ndef value(data):\n    return values[data[0]]\n",
                            errand("made:value", gives=tensor("uint8")))
        told = [daemon.call([number], room=1) for number in range(6)]
        self.assertEqual([reply.get("data") for reply in told], [b"\3", b"\1", None, None, None, b"\4"])
        self.assertEqual(told[3]["text"], "made:value gave a int with values that uint8 does not hold: return an array of uint8, "
                         "or correct `gives`")

    def test_bfloat16_comes_from_torch(self):
        daemon = self.begin("""
            import torch
            def value(data):
                return torch.tensor([1.0, 2.0], dtype=getattr(torch, data.decode()))
            """, errand("made:value", gives=tensor("bfloat16", 2)))
        self.assertEqual(daemon.call(b"bfloat16", room=4)["data"], struct.pack("<HH", 0x3F80, 0x4000))
        self.assertEqual(daemon.call(b"float32", room=4)["text"], "made:value gave float32 [2], and `gives` says bfloat16 [2]: "
                         "return such an array, or correct `gives`")

    def test_pictures_of_pil(self):
        daemon = self.begin("""
            from PIL import Image
            def picture(data):
                return Image.new(data.decode(), (3, 2), 7 if data == b"L" else (1, 2, 3))
            """, errand("made:picture", gives=tensor("uint8", 2, 3, 3)), errand("made:picture", gives=tensor("uint8", 2, 3, 1)),
            errand("made:picture", gives=tensor("uint8", 2, 3)))
        self.assertEqual(daemon.call(b"RGB", room=18)["data"], bytes([1, 2, 3] * 6))
        for number in (1, 2):
            self.assertEqual(daemon.call(b"L", errand=number, room=6)["data"], b"\7" * 6)

    def test_an_array_that_is_another_each_time_is_checked_each_time(self):
        daemon = self.begin("import numpy\ndef made(data):\n    return numpy.zeros(len(data), dtype=numpy.uint8)\n",
                            errand("made:made", gives=tensor("uint8", 3)))
        self.assertEqual([daemon.call(b"x" * size, room=9)["kind"] for size in (3, 4, 3, 0)], ["done", "bad", "done", "bad"])


class Bytes(CrewCase):
    def test_values_of_many_kinds_fit(self):
        daemon = self.begin("""
            values = [b"bytes", bytearray(b"array"), memoryview(b"-view-")[1:5], "text \\u00e4", memoryview(b"abcdef")[::2], 7,
                      [1, 2]]
            def value(data):
                return values[data[0]]
            """, errand("made:value", gives=BYTES))
        replies = [daemon.call([number], room=100) for number in range(7)]
        self.assertEqual([reply.get("data") for reply in replies],
                         [b"bytes", b"array", b"view", "text \u00e4".encode(), b"ace", None, None])
        self.assertEqual(replies[5]["text"], "made:value gave a value of the type int, and `gives` says bytes: return bytes, a "
                         "bytearray, a memoryview or a str")


