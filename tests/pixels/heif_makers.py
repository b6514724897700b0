"""Makes HEIC pictures by pillow-heif, whose libheif decodes them for the comparison."""
import io
import struct

import numpy as np
from PIL import Image
import pillow_heif
import pillow_heif.HeifImagePlugin

from modern_makers import Cells
from picture_makers import HEIGHT, WIDTH, exif_of, picture, saved


class Heif(Cells):
    """All samplings and matrices, with alpha, turned, cut, and in cells.

    libheif repeats the samples of chroma that stand for several pixels, where spdld interpolates them: such pictures have slow
    waves, and may differ by more.
    """

    TOLERANCE, LEAST, ENDING = 1, 60, ".heic"
    ITEM, HEADER, BRANDS = b"hvc1", b"hvcC", b"heicmif1heic"

    @staticmethod
    def cell(mode, seed):
        return saved(picture(mode, 64, 64, seed), "HEIF", chroma=444, quality=80, matrix_coefficients=6, full_range_flag=1,
                     color_primaries=1, transfer_characteristics=13)

    SHARED = (0, 1, 1, 0, 1, 0)

    @classmethod
    def alike(cls, path):
        """libheif takes no grid that shows a cell several times: its cells are laid beside one another here."""
        if path.stem != "grid-shared":
            return path
        whole = Image.new("RGB", (128, 192))
        for place, cell in enumerate(cls.SHARED):
            with Image.open(io.BytesIO(cls.cell("RGB", cell))) as part:
                whole.paste(part, (place % 2 * 64, place // 2 * 64))
        whole.save(path.parent.parent / "work" / "grid-shared.png")
        return path.parent.parent / "work" / "grid-shared.png"

    @staticmethod
    def tolerance(path):
        return 4 if "42" in path.name else 1

    @classmethod
    def make(cls, folder, small):
        def write(name, image, **options):
            (folder / f"{name}.heic").write_bytes(saved(image, "HEIF", **options))
        for mode in ("RGB", "RGBA", "L", "LA"):
            for quality in (30, -1):
                write(f"{mode}-{quality}-444", picture(mode), chroma=444, quality=quality)
        for chroma in (420, 422):
            for height, width in ((1, 1), (17, 33), (HEIGHT, WIDTH), (300, 270)):
                write(f"slow-{height}-{width}-{chroma}", slow_waves(height, width), chroma=chroma, quality=90)
        for height, width in ((1, 1), (17, 33), (5, 400), (64, 64)):
            write(f"size-{height}-{width}", picture("RGB", height, width), chroma=444)
        for orientation in range(1, 9):
            write(f"turned-{orientation}", picture("RGB"), chroma=444, exif=exif_of(orientation))
        for matrix in (1, 6, 9):
            for is_full in (0, 1):
                write(f"matrix-{matrix}-{is_full}", picture("RGB"), chroma=444, matrix_coefficients=matrix,
                      full_range_flag=is_full, color_primaries=1, transfer_characteristics=1)
        for is_full in (0, 1):  # the file's own word goes before the word of its coded data
            path = folder / f"matrix-6-{is_full}.heic"
            told = path.read_bytes()
            place = told.index(b"nclx") + 10
            (folder / f"other-range-{is_full}.heic").write_bytes(told[:place] + bytes([told[place] ^ 0x80]) + told[place + 1:])
        for chroma in (420, 444):
            deep = io.BytesIO()
            pillow_heif.encode("RGB;16", (270, 300), (np.asarray(slow_waves(300, 270), np.uint16) * 257).tobytes(), deep,
                               chroma=chroma, quality=90)
            (folder / f"deep-{chroma}.heic").write_bytes(deep.getvalue())
        for name, options in (("grid", {}), ("grid-cut", {"size": (111, 75)}), ("grid-alpha", {"alpha": (0, 1, 2, 3)}),
                              ("grid-scattered", {"alpha": (0, 1, 2, 3), "is_scattered": True})):
            (folder / f"{name}.heic").write_bytes(cls.grid(2, (0, 1, 2, 3), **options))
        (folder / "grid-order.heic").write_bytes(cls.grid(2, (3, 1, 0, 2)))
        (folder / "grid-shared.heic").write_bytes(cls.grid(2, cls.SHARED))
        cls.make_shaped(folder)
        if not small:
            write("large", picture("RGB", 1700, 2300), chroma=444, quality=90)

    @classmethod
    def shaped(cls, *transforms):
        """A picture with these boxes of its shape, in this order (ISO/IEC 23008-12, 6.5.9 to 6.5.12): Pillow and libheif write
        the turn of EXIF alone."""
        heic = cls.cell("RGB", 3)
        def at(kind):
            return heic.index(kind) - 4, struct.unpack(">I", heic[heic.index(kind) - 4:heic.index(kind)])[0]
        (meta, meta_bytes), (iprp, iprp_bytes), (ipco, ipco_bytes), (ipma, ipma_bytes) = map(
            at, (b"meta", b"iprp", b"ipco", b"ipma"))
        properties, association = heic[ipco + 8:ipco + ipco_bytes], heic[ipma:ipma + ipma_bytes]
        count, place = 0, 0
        while place < len(properties):
            count, place = count + 1, place + struct.unpack(">I", properties[place:place + 4])[0]
        assert association[8:18] == struct.pack(">IIH", 0, 1, 1), "one item, in short numbers"
        names = association[19:19 + association[18]]
        added = bytes(0x80 | (count + 1 + number) for number in range(len(transforms)))
        ipma_box = cls.box(b"ipma", association[8:18], bytes([len(names) + len(added)]), names, added)
        iprp_box = cls.box(b"iprp", cls.box(b"ipco", properties, *transforms), ipma_box)
        longer = len(iprp_box) - iprp_bytes
        whole = heic[:meta] + struct.pack(">I", meta_bytes + longer) + heic[meta + 4:iprp] + iprp_box + heic[iprp + iprp_bytes:]
        return cls.moved(whole, heic, longer)

    @staticmethod
    def moved(whole, before, by):
        """The item's place is told from the file's beginning, and lies behind the boxes that have grown."""
        data = before.index(b"mdat") + 4
        place = before.index(struct.pack(">I", data), before.index(b"iloc"))
        return whole[:place] + struct.pack(">I", data + by) + whole[place + 4:] if place < before.index(b"iprp") else \
            whole[:place + by] + struct.pack(">I", data + by) + whole[place + by + 4:]

    @classmethod
    def make_shaped(cls, folder):
        def turn(quarters):
            return cls.box(b"irot", bytes([quarters]))
        def mirror(axis):
            return cls.box(b"imir", bytes([axis]))
        def border(width, height, x, y):
            """`x`, `y`: by how much the middle is moved."""
            return cls.box(b"clap", struct.pack(">IIIIiIiI", width, 1, height, 1, x, 2, y, 2))
        for quarters in range(4):
            (folder / f"irot-{quarters}.heic").write_bytes(cls.shaped(turn(quarters)))
            for axis in range(2):
                (folder / f"irot-{quarters}-imir-{axis}.heic").write_bytes(cls.shaped(turn(quarters), mirror(axis)))
                (folder / f"imir-{axis}-irot-{quarters}.heic").write_bytes(cls.shaped(mirror(axis), turn(quarters)))
        (folder / "imir-0-1.heic").write_bytes(cls.shaped(mirror(0), mirror(1)))
        (folder / "clap.heic").write_bytes(cls.shaped(border(40, 30, 10, -6)))
        (folder / "clap-irot.heic").write_bytes(cls.shaped(border(41, 30, 9, 4), turn(1)))

    @classmethod
    def refused(cls):
        heic = saved(picture("RGB", 64, 64), "HEIF", chroma=444)
        place = heic.index(b"ispe") + 8
        def claims(width, height):
            return heic[:place] + struct.pack(">II", width, height) + heic[place + 8:]
        yield "large", claims(32000, 32000), "HEIC"
        yield "larger", claims(66, 64), "a damaged HEIC: its coded data has 64 x 64 pixels, and its header claims 66 x 64"
        yield "empty", claims(0, 47), "a damaged HEIC: its header claims no pixels"
        yield "cut", heic[:-20], "a HEIC that was cut off"
        yield "head", heic[:100], "HEIC"
        data = heic.index(b"mdat") + 4
        place = heic.index(struct.pack(">I", data), heic.index(b"iloc"))
        yield "behind", heic[:place] + struct.pack(">I", len(heic) + 9) + heic[place + 4:], "a HEIC that was cut off"
        yield "av1", heic.replace(b"hvc1", b"av01"), "a HEIC with AV1's coding"
        yield "tone-map", heic.replace(b"hvc1", b"tmap"), "a HEIC with a picture that is another one with a tone map"
        yield "other", heic.replace(b"hvc1", b"x\x01yz"), "a HEIC with items of the kind 'x?yz'"
        yield "unknown", heic.replace(b"hvcC", b"free"), "a HEIC with items of the kind 'free'"
        yield "track", cls.box(b"ftyp", b"hevc", bytes(4),
                               b"hevc") + cls.box(b"moov", bytes(8)), "a HEIC with a track of pictures"
        grid = cls.grid(2, (0, 1, 2, 3))
        yield "cells", grid.replace(struct.pack(">BBBBHH", 0, 0, 1, 1, 128, 128), struct.pack(">BBBBHH", 0, 0, 1, 2, 128, 128)), \
            "a damaged HEIC: its grid has another number of cells than it tells"
        yield "not-filled", grid.replace(struct.pack(">BBBBHH", 0, 0, 1, 1, 128, 128),
                                         struct.pack(">BBBBHH", 0, 0, 1, 1, 128, 129)), \
            "a damaged HEIC: the cells of its grid do not fill it"


def slow_waves(height, width):
    y, x = np.mgrid[0:height, 0:width]
    values = np.dstack([127 + 100 * np.sin(x / (80 + 9 * c) + y / (90 - 7 * c) + c) for c in range(3)])
    return Image.fromarray(values.round().astype(np.uint8), "RGB")
