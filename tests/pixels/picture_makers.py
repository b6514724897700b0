"""Makes pictures of the formats beside JPEG and PNG, by Pillow, and by writers of its own where Pillow can't write a kind."""
import io
import struct

import numpy as np
from PIL import Image

WIDTH, HEIGHT = 61, 47


def noise(channels, height=HEIGHT, width=WIDTH, white=255, seed=5):
    """Waves with some noise, which no codec finds too easy."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = np.dstack([np.sin(x / (5 + c)) + np.cos(y / (7 + 2 * c)) for c in range(channels)])
    values = (waves + 2) / 4 * white * 0.9 + rng.integers(0, max(2, white // 12), (height, width, channels))
    return values.clip(0, white).astype(np.uint8 if white == 255 else np.uint16)


def picture(mode, height=HEIGHT, width=WIDTH, seed=5):
    return Image.fromarray(noise(4, height, width, seed=seed), "RGBA").convert(mode)


def exif_of(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def saved(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


class Webp:
    """Lossy, lossless, with alpha, turned, animated."""

    TOLERANCE, LEAST = 0, 40
    SIZES = ((1, 1), (1, 2), (2, 1), (3, 3), (16, 16), (17, 33), (5, 400), (400, 5))

    @classmethod
    def make(cls, folder, small):
        def write(name, image, **options):
            (folder / f"{name}.webp").write_bytes(saved(image, "WEBP", **options))
        for lossless in (False, True):
            kind = "lossless" if lossless else "lossy"
            for mode in ("RGB", "RGBA", "L"):
                for quality in (5, 60, 100):
                    write(f"{kind}-{mode}-{quality}", picture(mode), lossless=lossless, quality=quality)
            for height, width in cls.SIZES:
                write(f"{kind}-{height}-{width}", picture("RGBA" if width > 16 else "RGB", height, width), lossless=lossless)
            for orientation in range(1, 9):
                write(f"{kind}-exif-{orientation}", picture("RGB"), lossless=lossless, exif=exif_of(orientation))
            frames = [picture("RGBA", seed=seed) for seed in range(3)]
            write(f"{kind}-animated", frames[0], lossless=lossless, save_all=True, append_images=frames[1:])
        # A first frame that is smaller than its canvas.
        (folder / "part.webp").write_bytes(cls.part(folder / "lossy-RGBA-60.webp"))
        if not small:
            write("large", picture("RGB", 1700, 2300), quality=98, method=0)

    @staticmethod
    def chunk(kind, content):
        return kind + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)

    @classmethod
    def file(cls, *chunks):
        content = b"WEBP" + b"".join(chunks)
        return b"RIFF" + struct.pack("<I", len(content)) + content

    @classmethod
    def header(cls, width, height, flags=0x12):
        return cls.chunk(b"VP8X", struct.pack("<I", flags) + struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3])

    @classmethod
    def part(cls, path):
        coded = path.read_bytes()[12 + 8 + 10:]
        frame = struct.pack("<I", 4)[:3] + struct.pack("<I", 3)[:3] + struct.pack("<I", WIDTH - 1)[:3] + struct.pack("<I", HEIGHT - 1)[:3]
        return cls.file(cls.header(WIDTH + 20, HEIGHT + 11), cls.chunk(b"ANIM", bytes(6)),
                        cls.chunk(b"ANMF", frame + struct.pack("<I", 100)[:3] + b"\x02" + coded))

    @classmethod
    def refused(cls):
        lossless = saved(picture("RGB"), "WEBP", lossless=True)
        lossy = saved(picture("RGB"), "WEBP")
        largest = bytearray(lossless)
        largest[21:25] = struct.pack("<I", 0x3FFF | 0x3FFF << 14)
        yield "claims", bytes(largest), "16384 x 16384 pixels, more than the limit"
        yield "canvas", cls.file(cls.header(16384 * 1024, 16384 * 1024, 0)), "it has no picture"
        yield "other", cls.file(cls.header(WIDTH + 1, HEIGHT, 0), lossy[12:]), "another size than its header claims"
        yield "cut", lossy[:-1], "a WebP that was cut off"
        yield "short", lossy[:30], "a WebP that was cut off"
        yield "frames", cls.file(cls.header(5, 5), cls.chunk(b"ANIM", bytes(6))), "an animation without frames"
        yield "outside", cls.file(cls.header(WIDTH, HEIGHT), cls.chunk(b"ANMF", bytes([1]) + cls.frame_rest() + lossy[12:])), "does not fit"
        yield "changed", lossy[:26] + bytes(4) + lossy[30:], "claims no pixels"

    @staticmethod
    def frame_rest():
        return bytes(5) + struct.pack("<I", WIDTH - 1)[:3] + struct.pack("<I", HEIGHT - 1)[:3] + bytes(4)


FORMATS = {"webp": Webp}
