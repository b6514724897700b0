"""The daemon's random numbers, by the definitions in daemon/base/random.cpp and beta.cpp."""
import math

M64 = (1 << 64) - 1


def philox(counter, key):
    """Philox4x32-10."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


class Draw:
    """The stream of this name; `place` is a sample, or a position of the epoch."""

    def __init__(self, seed, epoch, place, name):
        key = 0xCBF29CE484222325
        for byte in name.encode():
            key = ((key ^ byte) * 0x100000001B3) & M64
        low, high = (lambda v: v & 0xFFFFFFFF), (lambda v: v >> 32)
        at = philox((low(place), high(place), low(epoch), high(epoch)), (low(seed), high(seed)))
        self.key, self.counter, self.words = at[:2], [0, at[2], low(key), high(key)], []

    def bits64(self):
        if not self.words:
            self.words = philox(self.counter, self.key)
            self.counter[0] += 1
        high, low, *self.words = self.words
        return high << 32 | low

    def uniform(self):
        return (self.bits64() >> 11) * 2.0**-53

    def below(self, bound):
        return self.bits64() * bound >> 64  # a rejection has a chance of 2^-58 or less for small bounds

    def shuffled(self, count):
        places = list(range(count))
        for left in range(count, 1, -1):
            other = self.below(left)
            places[left - 1], places[other] = places[other], places[left - 1]
        return places


def log_gamma_number(draw, alpha):
    d = (alpha + 1 if alpha < 1 else alpha) - 1 / 3
    while True:
        x = math.sqrt(-2 * math.log(1 - draw.uniform())) * math.cos(2 * math.pi * draw.uniform())
        t = 1 + x / math.sqrt(9 * d)
        u = 1 - draw.uniform()
        if t > 0 and math.log(u) < 0.5 * x * x + d - d * t**3 + d * math.log(t**3):
            break
    found = math.log(d * t**3)
    return found + math.log(1 - draw.uniform()) / alpha if alpha < 1 else found


def beta(draw, alpha):
    x = log_gamma_number(draw, alpha)
    return 1 / (1 + math.exp(log_gamma_number(draw, alpha) - x))


def parts(draw, alpha, count):
    numbers = [log_gamma_number(draw, alpha) for _ in range(count)]
    shares = [math.exp(number - max(numbers)) for number in numbers]
    return [share / sum(shares) for share in shares]
