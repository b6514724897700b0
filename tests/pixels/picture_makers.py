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


def moved(mode, number):
    """A frame of an animation: a square that moves over a picture, or over nothing where there is alpha."""
    values = noise(4, seed=7)
    if mode == "RGBA":
        values[..., 3] = 0
    place = slice(5 + 6 * number, 17 + 6 * number)
    values[5:25, place] = (number * 40, 200, 90, 128 + 20 * number if mode == "RGBA" else 255)
    return Image.fromarray(values, "RGBA").convert(mode)


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
    def animate(folder, small):
        """Frames that blend with the ones before, parts of the canvas, and frames without alpha."""
        for lossless in (False, True):
            for mode in ("RGB", "RGBA"):
                frames = [moved(mode, number) for number in range(5)]
                for name, options in (("all", {}), ("keys", {"kmin": 1, "kmax": 2}), ("small", {"minimize_size": True})):
                    content = saved(frames[0], "WEBP", lossless=lossless, save_all=True, append_images=frames[1:],
                                    duration=50, **options)
                    (folder / f"{'lossless' if lossless else 'lossy'}-{mode}-{name}.webp").write_bytes(content)
        if small:
            return
        large = [picture("RGB", 1700, 2300, seed=seed) for seed in range(3)]
        (folder / "large.webp").write_bytes(saved(large[0], "WEBP", quality=98, method=0, save_all=True, append_images=large[1:]))

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
        frame = struct.pack("<I", 4)[:3] + struct.pack("<I", 3)[:3] + struct.pack("<I", WIDTH - 1)[:3] + struct.pack(
            "<I", HEIGHT - 1)[:3]
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
        yield "outside", cls.file(cls.header(WIDTH, HEIGHT),
                                  cls.chunk(b"ANMF", bytes([1]) + cls.frame_rest() + lossy[12:])), "does not fit"
        yield "changed", lossy[:26] + bytes(4) + lossy[30:], "claims no pixels"

    @staticmethod
    def frame_rest():
        return bytes(5) + struct.pack("<I", WIDTH - 1)[:3] + struct.pack("<I", HEIGHT - 1)[:3] + bytes(4)


class Bmp:
    """All depths, with and without masks and run lengths, and the headers of all ages."""

    TOLERANCE, LEAST = 0, 20

    @classmethod
    def make(cls, folder, small):
        for mode in ("1", "L", "P", "RGB", "RGBA"):
            image = picture("RGB").quantize(200) if mode == "P" else picture(mode)
            (folder / f"pillow-{mode}.bmp").write_bytes(saved(image, "BMP"))
        for name, content in cls.written():
            (folder / f"{name}.bmp").write_bytes(content)
        if not small:
            (folder / "large.bmp").write_bytes(saved(picture("RGB", 1700, 2300), "BMP"))

    @staticmethod
    def alike(path):
        """The file that Pillow reads with the same pixels: two headers are unknown to it, and it takes entries of the oldest
        one's palette for longer than they are."""
        return path.with_name(path.name.replace("-52", "-40").replace("-56", "-40").replace("core-at-palette", "core"))

    @classmethod
    def written(cls):
        rng = np.random.default_rng(8)
        for bits in (1, 4, 8):
            numbers, palette = rng.integers(0, 1 << bits, (HEIGHT, WIDTH)), rng.integers(0, 256, (1 << bits, 3), np.uint8)
            for top_down in (False, True):
                yield f"palette-{bits}-{top_down}", cls.file(cls.rows(numbers, bits, top_down), bits, top_down=top_down,
                                                             palette=palette)
            yield f"core-{bits}", cls.file(cls.rows(numbers, bits, False), bits, header=12, palette=palette)
            yield f"core-at-palette-{bits}", cls.file(cls.rows(numbers, bits, False), bits, header=12, palette=palette, start=26)
            for header in (40, 108):
                for name, start in (("no-place", 0), ("at-palette", 14 + header)):
                    yield f"{name}-{bits}-{header}", cls.file(cls.rows(numbers, bits, False), bits, header=header,
                                                              palette=palette, start=start)
                    few = cls.rows(numbers % 2, bits, False)  # a palette of two entries, as the header says
                    yield f"{name}-{bits}-{header}-few", cls.file(few, bits, header=header, palette=palette[:2], start=start)
        yield "core-24", cls.file(cls.rows(rng.integers(0, 1 << 24, (HEIGHT, WIDTH)), 24, False), 24, header=12)
        deep, full = rng.integers(0, 1 << 16, (HEIGHT, WIDTH)), rng.integers(0, 1 << 32, (HEIGHT, WIDTH))
        yield "555", cls.file(cls.rows(deep, 16, False), 16)
        for header in (40, 52, 56, 108, 124):
            yield f"565-{header}", cls.file(cls.rows(deep, 16, False), 16, header=header, masks=(0xF800, 0x7E0, 0x1F, 0))
            yield f"rgb-{header}", cls.file(cls.rows(full, 32, True), 32, header=header, top_down=True,
                                            masks=(0xFF0000, 0xFF00, 0xFF, 0))
        for header in (108, 124):
            yield f"rgba-{header}", cls.file(cls.rows(full, 32, False), 32, header=header,
                                             masks=(0xFF0000, 0xFF00, 0xFF, 0xFF000000))
            yield f"abgr-{header}", cls.file(cls.rows(full, 32, False), 32, header=header,
                                             masks=(0xFF, 0xFF00, 0xFF0000, 0xFF000000))
        for name, start in (("within-palette", 54 + 400), ("behind-palette", 54 + 1024 + 40)):
            palette = rng.integers(0, 256, (256, 3), np.uint8)
            content = cls.rows(rng.integers(0, 256, (HEIGHT, WIDTH)), 8, False) + bytes(400)
            yield name, cls.file(content, 8, palette=palette, start=start)
        yield "no-place-24", cls.file(cls.rows(deep, 24, False), 24, start=0)
        yield "no-place-rgb16", cls.file(cls.rows(deep, 16, False), 16, masks=(0xF800, 0x7E0, 0x1F, 0), start=0)
        yield "no-masks-32", cls.file(cls.rows(full, 32, False), 32)
        numbers = np.repeat(rng.integers(0, 200, (HEIGHT, WIDTH // 4 + 1)), 4, 1)[:, :WIDTH]
        palette = rng.integers(0, 256, (256, 3), np.uint8)
        yield "runs", cls.file(cls.runs(numbers), 8, compression=1, palette=palette)
        for width in (3, 9, 60, 61, 200):
            for kind in ("runs", "singles", "mixed"):
                few = rng.integers(0, 16, (7, width)) if kind != "runs" else np.repeat(rng.integers(0, 16, (7, width)),
                                                                                       9, 1)[:, :width]
                for ends in (True, False):
                    yield f"runs-4-{kind}-{width}-{ends}", cls.file(cls.runs_of_4(few, kind, ends), 4, compression=2,
                                                                    palette=palette[:16], size=(width, 7))

    @staticmethod
    def rows(values, bits, top_down):
        """Rows as they are stored, each filled up to four bytes."""
        if bits < 8:
            each = (values[:, :, None] >> np.arange(bits - 1, -1, -1)) & 1
            rows = np.packbits(each.astype(np.uint8).reshape(len(values), -1), axis=1)
        else:
            rows = ((values[:, :, None] >> np.arange(0, bits, 8)) & 255).astype(np.uint8).reshape(len(values), -1)
        rows = np.pad(rows, ((0, 0), (0, -rows.shape[1] % 4)))
        return (rows if top_down else rows[::-1]).tobytes()

    @staticmethod
    def runs(numbers):
        """Run lengths; some pixels stand one by one."""
        out = bytearray()
        for row in numbers[::-1]:
            out += bytes([0, 5, *row[:5], 0])
            x = 5
            while x < len(row):
                count = 1
                while x + count < len(row) and row[x + count] == row[x] and count < 255:
                    count += 1
                out += bytes([count, row[x]])
                x += count
            out += bytes([0, 0])
        return bytes(out) + bytes([0, 1])

    @staticmethod
    def runs_of_4(numbers, kind, ends):
        """Run lengths of 4 bits. Pixels one by one come in even numbers, which reach over the end of a row of odd width."""
        out = bytearray()
        for row in numbers[::-1]:
            x = 0
            while x < len(row):
                if kind == "runs" or (kind == "mixed" and x == 0):
                    count = next((n for n in range(1, len(row) - x) if row[x + n] != row[x]), len(row) - x)
                    out += bytes([count, row[x] * 17])
                else:
                    count = min(252, -(-(len(row) - x) // 2) * 2)
                    few = [*row[x:x + count], 7][:count]
                    pixels = bytes(first << 4 | second for first, second in zip(few[::2], few[1::2]))
                    out += (bytes([0, count]) if count > 2 else bytes([2, pixels[0]])) + (pixels + bytes(len(pixels) % 2)
                                                                                          if count > 2 else b"")
                x += count
            out += bytes([0, 0])
        return bytes(out) + (bytes([0, 1]) if ends else b"")

    @classmethod
    def file(cls, content, bits, header=40, top_down=False, masks=None, palette=None, compression=0,
             size=(WIDTH, HEIGHT), start=None):
        """`start`: where the header says that the pixels begin; None: where they do."""
        width, height = size
        colours = b"" if palette is None else b"".join(
            bytes([blue, green, red]) + (b"" if header == 12 else b"\0") for red, green, blue in palette)
        if header == 12:
            info = struct.pack("<IHHHH", 12, width, height, 1, bits)
        else:
            compression = 3 if masks else compression
            info = struct.pack("<IiiHHIIiiII", header, width, -height if top_down else height, 1, bits, compression,
                               len(content), 2835, 2835, len(palette) if palette is not None else 0, 0)
            words = 3 if header <= 52 else 4
            info += struct.pack(f"<{words}I", *masks[:words]) if masks else b""
            info = info.ljust(max(header, len(info)), b"\0")
        place = 14 + len(info) + len(colours)
        return b"BM" + struct.pack("<IHHI", place + len(content), 0, 0,
                                   place if start is None else start) + info + colours + content

    @classmethod
    def refused(cls):
        rows = cls.rows(np.zeros((HEIGHT, WIDTH), np.int64), 24, False)
        yield "large", cls.file(rows, 24, size=(65000, 65000)), "65000 x 65000 pixels, more than the limit"
        yield "cut", cls.file(rows, 24)[:-1], "a BMP that was cut off"
        yield "claims", cls.file(rows, 24, size=(13000, 13000)), "a BMP that was cut off"
        grey = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, 1)
        yield "runs", cls.file(bytes([0, 1]), 8, compression=1, palette=grey, size=(13000, 13000)), "can hold"
        yield "leaves", cls.file(bytes([0, 5, 1, 2, 3, 4, 5, 0] * 20), 8, compression=1, palette=grey,
                                 size=(20, 20)), "its code leaves the picture"
        yield "short", cls.file(bytes([20, 7] * 3), 8, compression=1, palette=grey, size=(20, 20)), "cut off"
        yield "empty", cls.file(rows, 24, size=(0, 5)), "claims no pixels"
        yield "header", cls.file(rows, 24, start=20), "its pixels lie in its header"
        yield "beyond", cls.file(rows, 24, start=1 << 20), "a BMP that was cut off"
        yield "depth", cls.file(rows, 7), "its header says what no BMP's header says"
        yield "jpeg", cls.file(rows, 24, compression=4), "a BMP with JPEG data"
        yield "png", cls.file(rows, 24, compression=5), "a BMP with PNG data"
        yield "os2", cls.file(rows, 24, header=64, compression=4), "a BMP with run lengths of 24 bits (OS/2)"
        yield "cmyk", cls.file(rows, 32, compression=11), "a BMP with CMYK colours"
        yield "unknown", cls.file(rows, 24, compression=77), "a BMP with a compression that is not known"
        yield "masks", cls.file(rows, 32, masks=(5, 0xFF00, 0xFF0000, 0)), "do not lie side by side"


class Gif:
    """Plain, interlaced, with transparency, animated, and frames that do not fill the canvas."""

    TOLERANCE, LEAST = 0, 14

    @classmethod
    def make(cls, folder, small):
        indexed = picture("RGB").quantize(200)
        def write(name, image, **options):
            (folder / f"{name}.gif").write_bytes(saved(image, "GIF", **options))
        for interlace in (0, 1):
            for colours in (2, 3, 16, 200, 256):
                write(f"colours-{colours}-{interlace}", picture("RGB").quantize(colours), interlace=interlace)
            write(f"grey-{interlace}", picture("L"), interlace=interlace)
            write(f"transparent-{interlace}", indexed, interlace=interlace, transparency=7)
        frames = [picture("RGB", seed=seed).quantize(64) for seed in range(3)]
        write("animated", frames[0], save_all=True, append_images=frames[1:])
        for name, place in (("part", (100, 90, 20, 15)), ("beyond", (30, 20, 5, 4))):
            for transparency in (None, 9):
                options = {} if transparency is None else {"transparency": transparency}
                content = saved(indexed, "GIF", **options)
                (folder / f"{name}-{transparency}.gif").write_bytes(cls.placed(content, *place))
        for bits in (9, 10, 11):
            for name, size in (("small", (7, 9)), ("wide", (120, 160))):
                image = picture("L", *size).quantize(256)
                (folder / f"codes-{bits}-{name}.gif").write_bytes(cls.with_wide_codes(image, bits))
        if not small:
            write("large", picture("RGB", 1700, 2300).quantize(256))

    @classmethod
    def with_wide_codes(cls, image, bits):
        """A GIF whose numbers have more bits than they need."""
        colours = bytes(image.getpalette())[:768].ljust(768, b"\0")
        return (b"GIF89a" + struct.pack("<HHBBB", *image.size, 0xF7, 0, 0) + colours + cls.wide_frame(image, bits) + b"\x3b")

    @classmethod
    def wide_frame(cls, image, bits):
        coded = cls.codes(np.asarray(image).reshape(-1).tolist(), bits)
        blocks = b"".join(bytes([len(coded[at:at + 255])]) + coded[at:at + 255] for at in range(0, len(coded), 255))
        return b"\x2c" + struct.pack("<HHHHB", 0, 0, *image.size, 0) + bytes([bits]) + blocks + b"\0"

    @staticmethod
    def codes(numbers, bits):
        """LZW, which starts over where its table is full, but for the first time."""
        out, filled, clear = 0, 0, 1 << bits
        table, width, count, kept = {(number,): number for number in range(clear)}, bits + 1, clear + 2, False

        def put(code):
            nonlocal out, filled
            out |= code << filled
            filled += width
        put(clear)
        word = ()
        for number in numbers:
            if word + (number,) in table:
                word += (number,)
                continue
            put(table[word])
            if count < 4096:
                table[word + (number,)] = count
                count += 1
                if count > 1 << width and width < 12:
                    width += 1
            elif not kept:
                kept = len(out.to_bytes(filled // 8 + 1, "little")) > 9000
            if kept:
                put(clear)
                table, width, count, kept = {(one,): one for one in range(clear)}, bits + 1, clear + 2, False
            word = (number,)
        put(table[word])
        put(clear + 1)
        return out.to_bytes(-(-filled // 8), "little")

    @classmethod
    def animate(cls, folder, small):
        """Frames of all disposals, on parts of the canvas, with palettes of their own, interlaced, with and without
        transparency."""
        rng = np.random.default_rng(3)
        for number in range(24):
            frames = []
            for at in range(6):
                width, height = (int(side) for side in (rng.integers(1, WIDTH + 1), rng.integers(1, HEIGHT + 1)))
                place = (int(rng.integers(0, WIDTH - width + 1)), int(rng.integers(0, HEIGHT - height + 1)))
                if at == 0 and number % 3:
                    width, height, place = WIDTH, HEIGHT, (0, 0)
                frames.append({"image": noise(1, height, width, seed=int(rng.integers(1000)))[:, :, 0] % 16, "place": place,
                               "disposal": int(rng.integers(0, 4)),
                               "transparent": int(rng.integers(0, 16)) if rng.integers(0, 2) else None,
                               "palette": noise(3, 1, 16, seed=int(rng.integers(1000)))[0] if rng.integers(0, 2) else None,
                               "interlaced": bool(rng.integers(0, 2)), "control": bool(rng.integers(0, 5))})
            (folder / f"frames-{number}.gif").write_bytes(cls.animated(frames, noise(3, 1, 16)[0], int(rng.integers(0, 16))))
        frames = [moved("RGB", at).quantize(64) for at in range(4)]
        for disposal in range(4):
            (folder / f"pillow-{disposal}.gif").write_bytes(
                saved(frames[0], "GIF", save_all=True, append_images=frames[1:], disposal=disposal, optimize=False))
        wide = [picture("L", seed=seed).quantize(200) for seed in range(3)]
        (folder / "wide-codes.gif").write_bytes(
            b"GIF89a" + struct.pack("<HHBBB", WIDTH, HEIGHT, 0xF7, 0, 0) + bytes(wide[0].getpalette())[:768].ljust(768, b"\0")
            + b"".join(cls.wide_frame(image, bits) for image, bits in zip(wide, (11, 8, 9))) + b"\x3b")
        if small:
            return
        large = [picture("L", 1700, 2300, seed=seed) for seed in range(3)]
        (folder / "large.gif").write_bytes(saved(large[0], "GIF", save_all=True, append_images=large[1:]))

    @classmethod
    def refused_frames(cls):
        """Where the third frame is wanted."""
        def frames(*places):
            return cls.animated([{"image": noise(1, 20, 20)[:, :, 0] % 16, "place": place, "palette": None, "interlaced": False,
                                  "control": False} for place in places], noise(3, 1, 16)[0], 0)
        yield "beyond", frames((0, 0), (0, 0), (WIDTH - 19, 0)), "its frame 2 reaches beyond the picture"
        sound = frames((0, 0), (0, 0), (0, 0))
        yield "short", sound[:-30], "giflib can't decode its row"
        yield "two", frames((0, 0), (0, 0)), "a GIF of 2 frames, counted from 0, where frame 2 is wanted"
        yield "two-open", frames((0, 0), (0, 0))[:-1], "a GIF of 2 frames, counted from 0, where frame 2 is wanted"

    @classmethod
    def animated(cls, frames, palette, background):
        """A GIF of 16 colours; the coded data are taken from Pillow's own files."""
        parts = [b"GIF89a" + struct.pack("<HHBBB", WIDTH, HEIGHT, 0x80 | 3, background, 0) + palette.astype(np.uint8).tobytes()]
        for frame in frames:
            if frame["control"]:
                number = frame["transparent"]
                flags = frame["disposal"] << 2 | (number is not None)
                parts.append(b"\x21\xf9\x04" + struct.pack("<BHBB", flags, 5, number or 0, 0))
            parts.append(cls.frame(**frame))
        return b"".join(parts) + b"\x3b"

    @staticmethod
    def frame(image, place, palette, interlaced, **_):
        height, width = image.shape
        if interlaced:
            image = image[[y for first, step in ((0, 8), (4, 8), (2, 4), (1, 2)) for y in range(first, height, step)]]
        indexed = Image.fromarray(image, "P")
        indexed.putpalette(list(range(48)))
        coded = saved(indexed, "GIF", interlace=0, optimize=False)
        start = coded.index(b"\x2c" + struct.pack("<HHHH", 0, 0, width, height))
        flags = coded[start + 9]
        data = start + 10 + (3 << ((flags & 7) + 1) if flags & 0x80 else 0)
        own = b"" if palette is None else palette.astype(np.uint8).tobytes()
        return b"\x2c" + struct.pack("<HHHHB", *place, width, height,
                                     (0x83 if own else 0) | interlaced << 6) + own + coded[data:-1]

    @staticmethod
    def placed(gif, width, height, left, top):
        """The same picture at another place of another canvas."""
        changed = bytearray(gif)
        changed[6:10] = struct.pack("<HH", width, height)
        frame = gif.index(b"\x2c" + struct.pack("<HHHH", 0, 0, WIDTH, HEIGHT))
        changed[frame + 1:frame + 5] = struct.pack("<HH", left, top)
        return bytes(changed)

    @classmethod
    def refused(cls):
        gif = saved(picture("RGB").quantize(200), "GIF")
        yield "large", cls.placed(gif, 65000, 65000, 0, 0), "65000 x 65000 pixels, more than the limit"
        yield "claims", cls.placed(gif, 13000, 12000, 0, 0), "can hold"
        yield "cut", gif[:len(gif) // 2], "giflib can't decode its row"
        yield "head", gif[:100], "a damaged GIF"
        yield "none", gif[:13 + 3 * 256] + b"\x3b", "it has no picture"
        yield "ends", gif[:13 + 3 * 256], "it ends before its first picture"
