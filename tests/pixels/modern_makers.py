"""Makes pictures of the formats that need a newer Pillow than Debian's, and plugins for it."""
import pathlib
import struct
import subprocess
import tempfile

from PIL import Image

from picture_makers import exif_of, moved, noise, picture, saved
from profile_makers import CMYK


class Cells:
    """Files of pictures that are made of pictures."""

    @staticmethod
    def box(kind, *parts):
        content = b"".join(parts)
        return struct.pack(">I", 8 + len(content)) + kind + content

    @classmethod
    def grid(cls, columns, order, size=None, alpha=None, is_scattered=False):
        """A grid of pictures of 64 x 64 (ISO/IEC 23008-12, 6.6.2.3). `order`: the number of the cell that stands at each place of
        the grid. `size`: the picture's, which may cut the cells off at the right and below. `alpha`: the order of a grid of
        alpha. `is_scattered`: grids lie in the header's own data, and cells in two pieces each."""
        rows, full = len(order) // columns, struct.pack(">I", 0)
        width, height = size or (64 * columns, 64 * rows)
        cells = [cls.cell("RGB", seed) for seed in range(len(order))]
        masks = [cls.cell("L", seed) for seed in range(9, 9 + len(alpha or ()))]
        def inner(file, kind):
            at = file.index(kind) - 4
            return file[at:at + struct.unpack(">I", file[at:at + 4])[0]]
        told = struct.pack(">BBBBHH", 0, 0, rows - 1, columns - 1, width, height)
        contents = [told, *(inner(cell, b"mdat")[8:] for cell in cells), *([told] if alpha else []),
                    *(inner(mask, b"mdat")[8:] for mask in masks)]
        kinds = [b"grid"] + [cls.ITEM] * len(cells) + ([b"grid"] if alpha else []) + [cls.ITEM] * len(masks)
        properties = [cls.box(b"ispe", full, struct.pack(">II", width, height)),
                      cls.box(b"ispe", full, struct.pack(">II", 64, 64)),
                      inner(cells[0], cls.HEADER), inner(cells[0], b"colr"), cls.box(b"pixi", full, b"\3\10\10\10"),
                      cls.box(b"pixi", full, b"\1\10"), cls.box(b"auxC", full, b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0")]
        of_item = [(1, 4, 5)] + [(2, 0x83, 4, 5)] * len(cells)
        references = [cls.box(b"dimg", struct.pack(f">HH{len(order)}H", 1, len(order), *(2 + cell for cell in order)))]
        if alpha:
            grid = 2 + len(cells)
            properties.append(inner(masks[0], cls.HEADER))
            of_item += [(1, 6, 7)] + [(2, 0x88, 6)] * len(masks)
            references += [cls.box(b"dimg", struct.pack(f">HH{len(alpha)}H", grid, len(alpha),
                                                        *(grid + 1 + cell for cell in alpha))),
                           cls.box(b"auxl", struct.pack(">HHH", grid, 1, 1))]
        def meta(start):
            places, at = b"", start
            inside = 0  # of the header's own data
            for number, (content, kind) in enumerate(zip(contents, kinds)):
                if not is_scattered:
                    places += struct.pack(">HHHII", 1 + number, 0, 1, at, len(content))
                    at += len(content)
                elif kind == b"grid":
                    places += struct.pack(">HHHHII", 1 + number, 1, 0, 1, inside, len(content))
                    inside += len(content)
                else:
                    half = len(content) // 2  # the second half lies before the first
                    places += struct.pack(">HHHHIIII", 1 + number, 0, 0, 2, at + len(content) - half, half, at,
                                          len(content) - half)
                    at += len(content)
            infos = b"".join(cls.box(b"infe", b"\2\0\0\0", struct.pack(">HH", 1 + number, 0), kind,
                                     b"\0") for number, kind in enumerate(kinds))
            ipma = b"".join(struct.pack(">HB", 1 + number, len(of)) + bytes(of) for number, of in enumerate(of_item))
            return cls.box(b"meta", full, cls.box(b"hdlr", full, bytes(4), b"pict", bytes(13)), cls.box(b"pitm", full, b"\0\1"),
                           cls.box(b"iloc", bytes([is_scattered, 0, 0, 0]), b"\x44\0", struct.pack(">H", len(contents)), places),
                           cls.box(b"iinf", full, struct.pack(">H", len(contents)), infos), cls.box(b"iref", full, *references),
                           *([cls.box(b"idat", *(content for content, kind in zip(contents, kinds) if kind == b"grid"))]
                             if is_scattered else []),
                           cls.box(b"iprp", cls.box(b"ipco", *properties),
                                   cls.box(b"ipma", full, struct.pack(">I", len(of_item)), ipma)))
        head = cls.box(b"ftyp", cls.BRANDS[:4], bytes(4), cls.BRANDS)
        if is_scattered:
            stored = [content[len(content) // 2:] + content[:len(content) // 2] for content, kind in zip(contents, kinds)
                      if kind != b"grid"]
        else:
            stored = contents
        return head + meta(len(head) + len(meta(0)) + 8) + cls.box(b"mdat", *stored)


class Avif(Cells):
    """All samplings, with alpha, turned and animated. Pillow's libavif is another version, whose colours may differ a little."""

    TOLERANCE, LEAST, ENDING = 3, 20, ".avif"
    ITEM, HEADER, BRANDS = b"av01", b"av1C", b"avifmif1miafMA1A"

    @staticmethod
    def cell(mode, seed):
        return saved(picture(mode, 64, 64, seed), "AVIF", speed=10, max_threads=1,
                     subsampling="4:0:0" if mode == "L" else "4:4:4")

    @classmethod
    def make(cls, folder, small):
        def write(name, image, **options):
            (folder / f"{name}.avif").write_bytes(saved(image, "AVIF", speed=10, max_threads=1, **options))
        for sampling in ("4:2:0", "4:2:2", "4:4:4", "4:0:0"):
            for mode in ("RGB", "RGBA"):
                write(f"{mode}-{sampling.replace(':', '')}", picture(mode), quality=70, subsampling=sampling)
        write("lossless", picture("RGB"), quality=100, subsampling="4:4:4")
        for height, width in ((1, 1), (17, 33), (5, 400)):
            write(f"size-{height}-{width}", picture("RGB", height, width))
        for orientation in range(1, 9):
            write(f"turned-{orientation}", picture("RGB"), exif=exif_of(orientation))
        frames = [picture("RGB", seed=seed) for seed in range(3)]
        write("animated", frames[0], save_all=True, append_images=frames[1:])
        for name, options in (("grid", {}), ("grid-cut", {"size": (111, 75)}), ("grid-alpha", {"alpha": (0, 1, 2, 3)})):
            (folder / f"{name}.avif").write_bytes(cls.grid(2, (0, 1, 2, 3), **options))
        if not small:
            write("large", picture("RGB", 1700, 2300), quality=90)

    @staticmethod
    def animate(folder, small):
        for mode in ("RGB", "RGBA"):
            frames = [moved(mode, number) for number in range(5)]
            content = saved(frames[0], "AVIF", speed=10, max_threads=1, quality=80, save_all=True, append_images=frames[1:])
            (folder / f"moved-{mode}.avif").write_bytes(content)

    @classmethod
    def known_faults(cls):
        """What releases of libavif get wrong: a name, the file, and the sentence where the linked one does."""
        yield "grid-order", cls.grid(2, (3, 2, 1, 0)), "a grid whose cells have another order"
        yield "alpha-order", cls.grid(2, (0, 1, 2, 3), alpha=(0, 2, 1, 3)), "a grid whose cells have another order"
        frames = [moved("RGBA", number) for number in range(3)]
        moving = saved(frames[0], "AVIF", speed=10, max_threads=1, save_all=True, append_images=frames[1:])
        track = moving.rindex(b"tkhd") - 4
        yield "depth", moving[:track] + moving[track:].replace(b"auxiliary:alpha", b"auxiliary:depth"), "no alpha, such as depth"
        sizes = track + struct.unpack(">I", moving[track:track + 4])[0] - 8
        silent = moving[:sizes] + bytes(8) + moving[sizes + 8:]
        yield "sound", silent[:track] + silent[track:].replace(b"tref", b"free").replace(
            b"auxv", b"soun"), "a track that is no picture, such as sound"

    @classmethod
    def refused(cls):
        avif = saved(picture("RGB"), "AVIF", speed=10)
        place = avif.index(b"ispe") + 8
        def claims(width, height):
            return avif[:place] + struct.pack(">II", width, height) + avif[place + 8:]
        yield "large", claims(32000, 32000), "AVIF"
        yield "empty", claims(0, 47), "AVIF"
        yield "cut", avif[:-20], "an AVIF that was cut off"
        yield "head", avif[:100], "AVIF"


class Jxl:
    """Lossy and lossless, of 8 and 16 bits, grey, with alpha, turned, animated, with and without boxes; all written by libjxl's
    own program.

    The library that is beside Pillow is another version, whose lossy colours may differ a little. Lossless ones do not.
    """

    TOLERANCE, LEAST, PLUGIN = 1, 40, "pillow_jxl"

    @classmethod
    def make(cls, folder, small):
        def write(name, image, *options, **saving):
            (folder / f"{name}.jxl").write_bytes(cls.coded(saved(image, "PNG", **saving), *options))
        for mode in ("RGB", "RGBA", "L", "LA"):
            for kind, options in cls.KINDS.items():
                write(f"{mode}-{kind}", picture(mode), *options)
        for height, width in ((1, 1), (17, 33), (5, 400), (300, 270)):
            write(f"lossless-{height}-{width}", picture("RGB", height, width), "-d", "0")
            write(f"lossy-{height}-{width}", picture("RGB", height, width))
        for orientation in range(1, 9):
            write(f"turned-{orientation}", picture("RGB"), "-d", "0", exif=exif_of(orientation))
        write("deep", Image.fromarray(noise(1, white=65535)[:, :, 0]), "-d", "0")
        frames = [picture("RGB", seed=seed) for seed in range(3)]
        write("first", frames[0], "-d", "0")
        write("animated", frames[0], "-d", "0", save_all=True, append_images=frames[1:], duration=100)
        if not small:
            write("large", picture("RGB", 1700, 2300), "-e", "3")

    KINDS = {"lossless": ("-d", "0"), "boxes": ("-d", "0", "--container=1"), "fast": ("-d", "0", "-e", "1"), "lossy": (),
             "low": ("-d", "4"),
             "modular": ("-d", "1", "-m", "1"), "progressive": ("-p",), "sharp": ("-d", "1", "--epf=0", "--gaborish=0")}

    @staticmethod
    def coded(content, *options):
        with tempfile.TemporaryDirectory() as folder:
            plain, coded = pathlib.Path(folder, "plain"), pathlib.Path(folder, "coded.jxl")
            plain.write_bytes(content)
            subprocess.run(["cjxl", "--num_threads=0", *options, plain, coded], check=True, capture_output=True)
            return coded.read_bytes()

    @staticmethod
    def alike(path):
        """Pillow's plugin gives an animation's last frame."""
        return path.with_name("first.jxl") if path.stem == "animated" else path

    @staticmethod
    def packed(*fields):
        """Numbers, each with its count of bits, from the lowest bit on."""
        bits, count = 0, 0
        for value, width in fields:
            bits |= value << count
            count += width
        return bits.to_bytes((count + 7) // 8, "little")

    @classmethod
    def claims(cls, width, height):
        """A header, and an empty frame with all defaults. Each side is 30 bits behind two that say so (ISO/IEC 18181-1,
        size_header)."""
        return b"\xff\x0a" + cls.packed((0, 1), (3, 2), (height - 1, 30), (0, 3), (3, 2), (width - 1, 30), (1, 1),
                                        (1, 1)) + b"\1" + bytes(10_000)

    @classmethod
    def framed(cls, *fields):
        """A picture of 8 x 8 pixels, in the format's own colours, whose first frame begins so (ISO/IEC 18181-1, frame_header)."""
        return b"\xff\x0a" + cls.packed((1, 1), (0, 5), (1, 3), (1, 1), (1, 1)) + cls.packed(*fields) + bytes(10_000)

    @classmethod
    def refused(cls):
        coded = cls.coded(saved(picture("RGB"), "PNG"))
        yield "large", cls.claims(65000, 65000), "65000 x 65000 pixels, more than the limit"
        yield "huge", cls.claims(1 << 29, 1 << 29), "more than the limit"
        yield "memory", cls.claims(13000, 13000), "limits.sample_bytes_max"
        yield "cut", coded[:-20], "a JPEG XL that was cut off"
        yield "head", coded[:5], "a JPEG XL that was cut off"
        yield "box", b"\0\0\0\x0cJXL \r\n\x87\n" + bytes(100), "JPEG XL"
        start, side, end = ((0, 1), (0, 2), (0, 1), (0, 2), (0, 2), (2, 3), (2, 3), (0, 2),
                            (1, 1)), ((2, 2), (18000 - 2304, 14)), ((0, 2), (1, 1), (0, 2), (1, 1))
        # An extra channel of 8 bits that is the black (ISO/IEC 18181-1, image_metadata), and colours that are no XYB.
        black = ((0, 2), (0, 3), (1, 1), (1, 2), (0, 1), (2, 2), (2, 4), (0, 3), (0, 2), (0, 2), (0, 1), (1, 1), (0, 2), (1, 1))
        yield "black", b"\xff\x0a" + cls.packed((1, 1), (0, 5), (1, 3), *black) + bytes(1000), "a JPEG XL with CMYK colours"
        yield "frame", cls.framed(*start, *((0, 2), (0, 8)) * 2, *side * 2, *end), "a frame that is larger than the picture"
        yield "layers", cls.framed(*start[:-1], (0, 1), (0, 2), (0, 1), (0, 2), (0, 1), (0, 2), (1, 1)), "several layers"
        yield "lowest", cls.coded(saved(picture("RGB"), "PNG"), "-d", "8"), "frames before its picture"
        yield "reference", cls.framed((0, 1), (2, 2)), "frames before its picture"
        yield "dc", cls.framed((0, 1), (1, 2)), "frames before its picture"
        for flag, sentence in ((2, "patches"), (16, "splines"), (32, "frames that need others")):
            coded = ((1, 2), (flag - 1, 4)) if flag < 17 else ((2, 2), (flag - 17, 8))
            yield f"flag-{flag}", cls.framed((0, 1), (0, 2), (0, 1), *coded), sentence


class Jpeg2000:
    """In boxes and bare, reversible or not, in tiles, layers and all orders, of 8 and 16 bits, grey, with alpha, and with headers
    that lie."""

    TOLERANCE, LEAST = 1, 50

    @classmethod
    def make(cls, folder, small):
        def write(name, image, **options):
            for ending in ("jp2", "j2k"):
                (folder / f"{name}.{ending}").write_bytes(saved(image, "JPEG2000", no_jp2=ending == "j2k", **options))
        for mode in ("L", "LA", "RGB", "RGBA"):
            for irreversible in (False, True):
                write(f"{mode}-{irreversible}", picture(mode), irreversible=irreversible)
            write(f"tiles-{mode}", picture(mode), tile_size=(16, 32), offset=(3, 5), tile_offset=(1, 2))
        write("deep", Image.fromarray(noise(1, white=65535)[:, :, 0]))
        for order in ("LRCP", "RLCP", "RPCL", "PCRL", "CPRL"):
            write(f"order-{order}", picture("RGB", 200, 150), progression=order, quality_layers=[40, 20, 5], irreversible=True,
                  precinct_size=(64, 64), codeblock_size=(16, 16), num_resolutions=3)
        write("chroma", picture("RGB").convert("YCbCr"))
        write("plain", picture("RGB"), mct=0, num_resolutions=1, codeblock_size=(4, 4))
        for height, width in ((1, 1), (1, 2), (17, 33), (5, 400)):
            write(f"size-{height}-{width}", picture("RGB", height, width))
        if not small:
            write("large", picture("RGB", 1700, 2300))

    @staticmethod
    def changed(coded, *changes):
        """The codestream with other bytes behind its SIZ marker."""
        start = coded.index(b"\xff\x51") + 2
        for place, content in changes:
            coded = coded[:start + place] + content + coded[start + place + len(content):]
        return coded

    @staticmethod
    def coloured(coded, box):
        """The file with this content in its box of colours (ISO/IEC 15444-1, I.5.3.3)."""
        at, head = coded.index(b"colr") - 4, coded.index(b"jp2h") - 4
        old = struct.unpack(">I", coded[at:at + 4])[0]
        whole = struct.pack(">I", struct.unpack(">I", coded[head:head + 4])[0] - old + 8 + len(box))
        return coded[:head] + whole + coded[head + 4:at] + struct.pack(">I", 8 + len(box)) + b"colr" + box + coded[at + old:]

    @classmethod
    def refused(cls):
        coded = saved(picture("RGB"), "JPEG2000")
        for number, name in ((0, "one bit where 0 is white"), (1, "ITU-R BT.709"), (12, "CMYK"), (14, "CIELab"), (24, "e-sYCC"),
                             (99, "a kind that JPEG 2000 does not define")):
            yield f"colours-{number}", cls.coloured(coded, struct.pack(">BBBI", 1, 0, 0, number)), name
        yield "lab", cls.coloured(coded, b"\1\0\0\0\0\0\x0e" + struct.pack(">6I", 100, 0, 255, 128, 255,
                                                                           128) + b"D65\0"), "CIELab colours"
        yield "inks", cls.coloured(coded, b"\2\0\0" + CMYK), "a JPEG 2000 with CMYK colours"
        yield "profile-lab", cls.coloured(coded, b"\2\0\0" + CMYK.replace(b"CMYK", b"Lab ", 1)), "a JPEG 2000 with CIELab colours"
        bare = saved(picture("RGB"), "JPEG2000", no_jp2=True, quality_layers=[20, 5], precinct_size=(64, 64),
                     codeblock_size=(16, 16))
        four = struct.pack(">I", 65000)
        yield "large", cls.changed(coded, (4, four), (8, four)), "65000 x 65000 pixels, more than the limit"
        yield "memory", cls.changed(coded, *((place, struct.pack(">I", 13300))
                                             for place in (4, 8, 20, 24))), "limits.sample_bytes_max"
        yield "tiles", cls.changed(coded, (20, struct.pack(">II", 1, 1))), "in 2867 tiles, more than its"
        yield "components", cls.changed(coded, (36, struct.pack(">H", 16384))), "a JPEG 2000 with 16384 components"
        yield "bits", cls.changed(coded, (38, b"\x1f")), "a JPEG 2000 with samples of 32 bits"
        yield "empty", cls.changed(coded, (4, bytes(4))), "its header says what no JPEG 2000's header says"
        layers = bare.index(b"\xff\x52") + 6
        yield "layers", bare[:layers] + b"\xff\xff" + bare[layers + 2:], "packets, more than its"
        yield "precincts", bare[:layers + 8] + b"\x11" * 6 + bare[layers + 14:], "JPEG 2000"
        yield "cut", coded[:-200], "JPEG 2000"
        yield "head", coded[:60], "JPEG 2000"
        yield "box", coded[:coded.index(b"jp2c") - 4], "a JPEG 2000 that was cut off"
