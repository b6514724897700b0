"""What functions print, on its way to the trainer's stderr: whole lines, none too long, not too many a second."""
import unittest

from spdld._crew.output import Relay


class Lines(unittest.TestCase):
    def setUp(self):
        self.given = []
        self.takes = True
        self.relay = Relay(self.write, 0.0)

    def write(self, line):
        if self.takes:
            self.given.append(line)
        return self.takes

    def test_lines_are_whole(self):
        for data in (b"on", b"e\ntwo\nthr", b"", b"ee\n\n"):
            self.relay.take(data, 0.0)
        self.assertEqual(self.given, [b"one\n", b"two\n", b"three\n", b"\n"])
        self.relay.take(b"rest", 0.0)
        self.relay.end(0.0)
        self.assertEqual(self.given[4:], [b"rest\n"])
        self.assertIsNone(self.relay.due(0.0))

    def test_long_lines_are_cut_however_they_come(self):
        for size in (1, 100, 4095, 4096, 5000, 100_000):
            self.setUp()
            data = b"first\n" + b"x" * 20_000 + b"\n" + b"y" * 4095 + b"\n" + b"z" * 4096 + b"\nlast\n"
            for begin in range(0, len(data), size):
                self.relay.take(data[begin:begin + size], 0.0)
            self.assertEqual(self.given, [b"first\n", b"x" * 4091 + b" ...\n", b"y" * 4095 + b"\n", b"z" * 4091 + b" ...\n",
                                          b"last\n"], size)

    def test_lines_beyond_the_rate_are_counted_and_told(self):
        self.relay.take(b"line\n" * 250, 0.5)
        self.assertEqual(len(self.given), 200)
        self.assertEqual(self.relay.due(0.5), 0.5)
        self.relay.look_at(0.99)
        self.assertEqual(len(self.given), 200)
        self.relay.look_at(1.0)
        told = b"spdld: 50 lines that Python operations printed were left out: at most 200 a second are shown\n"
        self.assertEqual(self.given[200:], [told])
        self.assertIsNone(self.relay.due(1.0))
        self.relay.take(b"line\n" * 201, 1.5)
        self.relay.end(1.6)
        self.assertEqual(self.given[201:], [b"line\n"] * 200 + [told.replace(b"50 lines", b"1 line").replace(b"were", b"was")])

    def test_lines_that_nobody_takes_are_counted_until_somebody_does(self):
        self.takes = False
        self.relay.take(b"line\n" * 3, 0.0)
        self.relay.look_at(1.0)
        self.relay.take(b"line\n", 1.1)
        self.takes = True
        self.relay.look_at(2.0)
        self.assertEqual(self.given, [b"spdld: 4 lines that Python operations printed were left out: at most 200 a second are "
                                      b"shown\n"])


if __name__ == "__main__":
    unittest.main()
