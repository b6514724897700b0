"""Makes TIFF pictures, by Pillow, and by a writer of its own where Pillow can't write a kind."""
import io
import struct
import zlib

import numpy as np
from PIL import Image

from picture_makers import HEIGHT, WIDTH, noise, picture, saved


class Tiff:
    """Strips, tiles and planes, of 1 to 16 bits, in both orders of bytes, with the compressions that are decoded."""

    TOLERANCE, LEAST, ENDING = 0, 120, ".tif"
    GREY_INVERTED, GREY, RGB, PALETTE, CMYK, YCBCR, LAB, ICC_LAB = 0, 1, 2, 3, 5, 6, 8, 9

    @classmethod
    def make(cls, folder, small):
        for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
            deep = Image.fromarray(noise(1, white=65535)[:, :, 0])
            for compression in ("raw", "tiff_lzw", "packbits", "tiff_adobe_deflate", "tiff_deflate", "zstd"):
                image = deep if mode == "I;16" else picture("RGB" if mode == "P" else mode)
                image = image.quantize(200) if mode == "P" else image
                rows = {278: 10} if compression != "raw" else {}
                content = saved(image, "TIFF", compression=compression, tiffinfo=rows)
                (folder / f"pillow-{mode.replace(';', '-')}-{compression}.tif").write_bytes(content)
        for mode in ("L", "RGB"):
            (folder / f"jpeg-{mode}.tif").write_bytes(saved(picture(mode), "TIFF", compression="jpeg", quality=90))
        for mode in ("CMYK", "LAB"):
            for compression in ("raw", "tiff_lzw", "jpeg") if mode == "CMYK" else ("raw", "tiff_lzw"):
                colours = picture("RGB").convert(mode)
                (folder / f"pillow-{mode}-{compression}.tif").write_bytes(saved(colours, "TIFF", compression=compression,
                                                                                tiffinfo={278: 10}))
        for compression in ("group3", "group4", "tiff_ccitt"):
            for width in (1, 7, 8, 61, 2700):
                content = saved(picture("1", 23, width), "TIFF", compression=compression, tiffinfo={278: 10})
                (folder / f"fax-{compression}-{width}.tif").write_bytes(content)
                (folder / f"fax-{compression}-{width}-turned.odd.tif").write_bytes(cls.with_turned_bits(content))
                (folder / f"fax-{compression}-{width}-turned.tif").write_bytes(content)
        for orientation in range(1, 9):
            content = saved(picture("RGB"), "TIFF", tiffinfo={274: orientation})
            (folder / f"orientation-{orientation}.tif").write_bytes(content)
        pages = [picture("RGB", seed=seed) for seed in range(3)]
        (folder / "pages.tif").write_bytes(saved(pages[0], "TIFF", save_all=True, append_images=pages[1:]))
        for name, content in cls.written():
            (folder / f"{name}.tif").write_bytes(content)
        if not small:
            (folder / "large.tif").write_bytes(saved(picture("RGB", 1700, 2300), "TIFF", compression="tiff_lzw"))

    @staticmethod
    def animate(folder, small):
        """Pages of other sizes and kinds."""
        pages = [picture(mode, HEIGHT - 3 * number, WIDTH + 5 * number, seed=number)
                 for number, mode in enumerate(("RGB", "L", "RGBA", "RGB"))]
        (folder / "pages.tif").write_bytes(saved(pages[0], "TIFF", save_all=True, append_images=pages[1:]))
        stack = [picture(mode, seed=number) for number, mode in enumerate(("RGB", "L", "RGBA", "L", "RGB"))]
        (folder / "stack.tif").write_bytes(saved(stack[0], "TIFF", save_all=True, append_images=stack[1:]))
        coded = [picture("RGB", seed=number) for number in range(9)]
        (folder / "coded.tif").write_bytes(saved(coded[0], "TIFF", save_all=True, append_images=coded[1:],
                                                 compression="tiff_lzw"))

    @staticmethod
    def alike(path):
        """The file that Pillow reads with the same pixels: it takes planes of 16 bits for planes of 8. An odd one has a twin."""
        if ".odd" in path.name:
            return path.with_name(path.name.replace(".odd", ""))
        return path.with_name(path.name.replace("-planes", "")) if "-16-planes" in path.name else path

    @classmethod
    def written(cls):
        for order in "<>":
            end = "little" if order == "<" else "big"
            for bits in (8, 16):
                white = (1 << bits) - 1
                rgb, rgba, grey = (noise(channels, white=white) for channels in (3, 4, 1))
                for separate in (False, True):
                    planes = "-planes" if separate else ""
                    for tile in (None, (16, 32)):
                        where = f"{end}-{bits}{planes}{'-tiles' if tile else ''}"
                        yield f"rgb-{where}", cls.file(rgb, cls.RGB, order, separate=separate, tile=tile)
                        if bits == 8 or not separate:
                            yield f"rgba-{where}", cls.file(rgba, cls.RGB, order, separate=separate, tile=tile, extra=2)
                yield f"rgbx-{end}-{bits}", cls.file(rgba, cls.RGB, order, extra=0)
                yield f"grey-{end}-{bits}-tiles", cls.file(grey, cls.GREY, order, tile=(32, 16))
            yield f"multiplied-{end}", cls.file(noise(4), cls.RGB, order, extra=1)
            yield f"inverted-{end}", cls.file(noise(1), cls.GREY_INVERTED, order)
        for bits in (1, 2, 4):
            values = noise(1) >> (8 - bits)
            yield f"grey-{bits}", cls.file(values, cls.GREY, bits=bits)
            yield f"inverted-{bits}", cls.file(values, cls.GREY_INVERTED, bits=bits)
            yield f"palette-{bits}", cls.file(values, cls.PALETTE, bits=bits, palette=noise(3, 1, 1 << bits, white=65535)[0])

        yield from cls.further_colours()
        yield from cls.further_bits()
        for across, down in ((1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (4, 4), (1, 2)):
            upright = cls.ycbcr(across, down, coded=True)
            yield f"ycbcr-{across}-{down}", upright
            yield f"ycbcr-{across}-{down}.odd", cls.ycbcr(across, down, coded=False)
            for orientation in (3, 6):  # Debian's Pillow turns each strip by itself
                rgb = np.asarray(Image.open(io.BytesIO(upright)).convert("RGB"))
                yield f"ycbcr-{across}-{down}-{orientation}", cls.file(rgb, cls.RGB, tags={274: (3, [orientation])})
                yield f"ycbcr-{across}-{down}-{orientation}.odd", cls.ycbcr(across, down, coded=True, orientation=orientation)

    @classmethod
    def further_colours(cls):
        """CMYK and Lab, and pages that do not say what their colours are."""
        for order, end in (("<", "little"), (">", "big")):
            inks = noise(4, white=65535)
            for name, options in (("", {}), ("-tiles", {"tile": (16, 32)}), ("-separate", {"separate": True})):
                yield f"cmyk-{end}{name}", cls.file((inks >> 8).astype(np.uint8), cls.CMYK, order, **options)
                yield f"cmyk-{end}{name}.odd", cls.file(inks, cls.CMYK, order, **options)
            yield f"cmyk-{end}-extra", cls.file(noise(5), cls.CMYK, order, extra=0)
            lab = noise(3, seed=8)
            yield f"lab-{end}", cls.file(lab, cls.LAB, order)
            yield f"lab-{end}-tiles", cls.file(lab, cls.LAB, order, tile=(16, 32))
            yield f"lab-{end}-icc", cls.file(lab, cls.LAB, order)
            yield f"lab-{end}-icc.odd", cls.file(lab ^ np.array([0, 128, 128], np.uint8), cls.ICC_LAB, order)
            for mode in ("grey", "bits"):
                values = noise(1) if mode == "grey" else noise(1) >> 7
                yield f"untold-{mode}-{end}", cls.file(values, None, order, bits=8 if mode == "grey" else 1)
            yield f"untold-rgb-{end}.odd", cls.file(noise(3), None, order)
            yield f"untold-rgb-{end}", cls.file(noise(3), cls.RGB, order)

    @classmethod
    def further_bits(cls):
        """Samples that do not fill bytes, side by side and in planes, beside the same of 8 or 16 bits."""
        yield "grey-12-bits", cls.file(noise(1, white=65535) >> 4, cls.GREY, bits=12)
        for bits in (1, 2, 3, 4, 5, 6, 7, 9, 10, 12, 14, 15):
            wide, white = (8, 255) if bits < 8 else (16, 65535)
            rgb = noise(3, white=65535) >> (16 - bits)
            scaled = cls.scaled(rgb, bits, white)
            for separate in (False, True):
                for tile in (None, (16, 32)):
                    name = f"rgb-{bits}-of-{wide}{'-separate' if separate else ''}{'-tiles' if tile else ''}"
                    yield f"{name}.odd", cls.file(rgb, cls.RGB, bits=bits, separate=separate, tile=tile)
                    yield name, cls.file(scaled, cls.RGB)
            if bits in (3, 5, 6, 7):
                colours = noise(3, 1, 1 << bits, white=65535)[0]
                yield f"palette-{bits}.odd", cls.file(rgb[:, :, :1], cls.PALETTE, bits=bits, palette=colours)
                yield f"palette-{bits}", cls.file(rgb[:, :, :1].astype(np.uint8), cls.PALETTE,
                                                  palette=np.pad(colours, ((0, 256 - len(colours)), (0, 0))))

    @staticmethod
    def scaled(values, bits, white):
        largest = (1 << bits) - 1
        return ((values.astype(np.uint64) * white + largest // 2) // largest).astype(np.uint8 if white == 255 else np.uint16)

    @classmethod
    def deep(cls):
        """Pictures with the RGB that 16 bits of it are to have."""
        grey, rgb, inks = noise(1, white=65535) >> 4, noise(3, white=65535) >> 4, noise(4, white=65535)
        yield "12-grey", cls.file(grey, cls.GREY, bits=12), np.repeat(cls.scaled(grey, 12, 65535), 3, 2)
        yield "12-inverted", cls.file(grey, cls.GREY_INVERTED, bits=12), np.repeat(65535 - cls.scaled(grey, 12, 65535), 3, 2)
        yield "12-rgb", cls.file(rgb, cls.RGB, bits=12), cls.scaled(rgb, 12, 65535)
        left = 65535 - inks[:, :, 3:].astype(np.int64)
        yield "16-cmyk", cls.file(inks, cls.CMYK), left - np.floor(inks[:, :, :3] * left / 65535 + 0.5)

    @classmethod
    def with_turned_bits(cls, content):
        """The same fax, whose bytes have their lowest bit first."""
        (place,) = struct.unpack("<I", content[4:8])
        (count,) = struct.unpack("<H", content[place:place + 2])
        tags = {}
        for at in range(place + 2, place + 2 + 12 * count, 12):
            tag, kind, number = struct.unpack("<HHI", content[at:at + 8])
            size = {3: 2, 4: 4}.get(kind)
            if size is None:
                continue
            (far,) = struct.unpack("<I", content[at + 8:at + 12])
            start = at + 8 if size * number <= 4 else far
            tags[tag] = (kind, list(struct.unpack(f"<{number}{'H' if kind == 3 else 'I'}", content[start:start + size * number])))
        strips = [content[start:start + length] for start, length in zip(tags[273][1], tags[279][1])]
        turned = [bytes(int(f"{byte:08b}"[::-1], 2) for byte in strip) for strip in strips]
        tags[273] = (4, list(np.cumsum([8] + [len(strip) for strip in turned])[:-1]))
        tags[266] = (3, [2])
        return cls.assembled("<", b"".join(turned), tags)

    @classmethod
    def ycbcr(cls, across, down, coded, orientation=1, size=(HEIGHT, WIDTH), rows=None):
        """Strips of units: the luma of a few pixels, and the chroma that they share."""
        height, width = size
        values, rows = noise(3, -(-height // down) * down, -(-width // across) * across), rows or 2 * down
        strips = []
        for top in range(0, height, rows):
            strip = bytearray()
            for y in range(top, min(top + rows, len(values)), down):
                for x in range(0, values.shape[1], across):
                    strip += values[y:y + down, x:x + across, 0].tobytes() + values[y, x, 1:].tobytes()
            strips.append(zlib.compress(bytes(strip)) if coded else bytes(strip))
        starts = np.cumsum([8] + [len(strip) for strip in strips])
        return cls.assembled("<", b"".join(strips), {
            256: (4, [width]), 257: (4, [height]), 258: (3, [8] * 3), 259: (3, [8 if coded else 1]), 262: (3, [cls.YCBCR]),
            273: (4, list(starts[:-1])), 274: (3, [orientation]), 277: (3, [3]), 278: (4, [rows]),
            279: (4, [len(strip) for strip in strips]), 284: (3, [1]), 530: (3, [across, down])})

    @staticmethod
    def packed(values, bits, order):
        """Rows of samples [height, samples of a row] as bytes."""
        if bits % 8 == 0:
            return values.astype(f"{order}u{bits // 8}").tobytes()
        each = (values[:, :, None] >> np.arange(bits - 1, -1, -1)) & 1
        return np.packbits(each.astype(np.uint8).reshape(values.shape[0], -1), axis=1).tobytes()

    @classmethod
    def pieces(cls, values, bits, order, tile):
        """The strips (of 10 rows) or tiles of samples [height, width, channels] as bytes."""
        height, width, channels = values.shape
        if tile is None:
            return [cls.packed(values[y:y + 10].reshape(-1, width * channels), bits, order) for y in range(0, height, 10)]
        down, across = tile
        filled = np.pad(values, ((0, -height % down), (0, -width % across), (0, 0)))
        return [cls.packed(filled[y:y + down, x:x + across].reshape(down, -1), bits, order)
                for y in range(0, height, down) for x in range(0, width, across)]

    @classmethod
    def file(cls, values, photometric, order="<", bits=None, separate=False, tile=None, extra=None, palette=None, tags=()):
        height, width, channels = values.shape
        bits = bits or values.dtype.itemsize * 8
        planes = [values[:, :, c:c + 1] for c in range(channels)] if separate else [values]
        pieces = [piece for plane in planes for piece in cls.pieces(plane, bits, order, tile)]
        starts = np.cumsum([8] + [len(piece) for piece in pieces])
        entries = {256: (4, [width]), 257: (4, [height]), 258: (3, [bits] * channels), 259: (3, [1]), 262: (3, [photometric]),
                   277: (3, [channels]), 284: (3, [2 if separate else 1])}
        if photometric is None:
            del entries[262]
        if tile is None:
            entries |= {273: (4, list(starts[:-1])), 278: (4, [10]), 279: (4, [len(piece) for piece in pieces])}
        else:
            entries |= {322: (4, [tile[1]]), 323: (4, [tile[0]]), 324: (4, list(starts[:-1])),
                        325: (4, [len(piece) for piece in pieces])}
        if extra is not None:
            entries[338] = (3, [extra])
        if palette is not None:
            entries[320] = (3, [int(value) for value in palette.T.reshape(-1)])
        entries |= dict(tags)
        return cls.assembled(order, b"".join(pieces), entries)

    @staticmethod
    def assembled(order, content, entries):
        """A header, the content behind it, the directory's long values, and the directory."""
        content += b"\0" * (len(content) % 2)
        directory = b""
        for tag, (kind, values) in sorted(entries.items()):
            value = struct.pack(f"{order}{len(values)}{'H' if kind == 3 else 'I'}", *(int(value) for value in values))
            if len(value) > 4:
                place = 8 + len(content)
                content += value + b"\0" * (len(value) % 2)
                value = struct.pack(f"{order}I", place)
            directory += struct.pack(f"{order}HHI", tag, kind, len(values)) + value.ljust(4, b"\0")
        directory = struct.pack(f"{order}H", len(entries)) + directory + bytes(4)
        return (b"II" if order == "<" else b"MM") + struct.pack(f"{order}HI", 42, 8 + len(content)) + content + directory

    @classmethod
    def refused(cls):
        rgb = noise(3)
        def claims(**sizes):
            tags = {256: (4, [sizes["width"]]), 257: (4, [sizes["height"]])}
            return cls.file(rgb, cls.RGB, tags=tags, tile=sizes.get("tile"))
        yield "large", claims(width=65000, height=65000), "65000 x 65000 pixels, more than the limit"
        yield "huge", claims(width=2**32 - 1, height=2**32 - 1), "a damaged TIFF"
        yield "more", claims(width=13000, height=13000), "can hold"
        yield "deflate", cls.file(rgb, cls.RGB, tags={256: (4, [13000]), 257: (4, [13000]), 259: (3, [8])}), "can hold"
        yield "tiles", cls.file(rgb, cls.RGB, tile=(16, 32),
                                tags={322: (4, [1 << 20]), 323: (4, [1 << 20])}), "tiles are much larger"
        yield "tile", cls.file(rgb, cls.RGB, tile=(16, 32), tags={322: (4, [0])}), "damaged TIFF"
        yield "floats", cls.file(rgb.astype(np.uint16), cls.RGB,
                                 tags={339: (3, [3] * 3)}), "a TIFF with floating-point samples of 16 bits"
        yield "signed", cls.file(rgb, cls.RGB, tags={339: (3, [2] * 3)}), "samples that have a sign"
        yield "bits", cls.file(rgb, cls.RGB, tags={258: (3, [20] * 3)}), "a TIFF with samples of 20 bits"
        for tags, sentence in (({332: (3, [2])}, "other inks than cyan"), ({258: (3, [7] * 4)}, None),
                               ({277: (3, [3]), 258: (3, [8] * 3)}, "other inks")):
            if sentence:
                yield "inks", cls.file(noise(4), cls.CMYK, tags=tags), sentence
        yield "ycbcr-16", cls.file(rgb.astype(np.uint16), cls.YCBCR), "YCbCr colours that are not three samples of 8 bits"
        yield "ycbcr-planes", cls.file(rgb, cls.YCBCR, separate=True), "YCbCr colours in planes of different sizes"
        yield "lab-16", cls.file(rgb.astype(np.uint16), cls.LAB), "Lab colours that are not three samples of 8 bits"
        yield "fax", cls.file(rgb, cls.RGB, tags={259: (3, [4])}), "CCITT fax compression is for samples of 1 bit"
        yield "fax-rows", cls.file(noise(1) >> 7, cls.GREY, bits=1, tags={257: (4, [100_000]), 259: (3, [4])}), "can hold"
        yield "fax-damage", cls.file(noise(1) >> 7, cls.GREY, bits=1,
                                     tags={259: (3, [3])}), "libtiff can't decode its pixels from row"
        yield "jpeg-12", cls.file(
            rgb, cls.RGB, tags={259: (3, [7]), 258: (3, [12] * 3)}), "lossless JPEG data, or JPEG data of more than 8 bits"
        for compression, words in ((6, "JPEG data of the old style"), (34887, "LERC compression"), (34925, "LZMA compression"),
                                   (50001, "WebP data"), (34712, "JPEG 2000 data"), (34661, "JBIG compression"),
                                   (12345, "a compression that is not known")):
            yield f"compression-{compression}", cls.file(rgb, cls.RGB, tags={259: (3, [compression])}), f"a TIFF with {words}"
        for photometric, words in ((4, "a mask of transparency"), (10, "ITU Lab"), (32803, "the raw data of a camera's sensor"),
                                   (32845, "LogLuv"), (999, "colours of a kind that TIFF does not define")):
            yield f"photometric-{photometric}", cls.file(rgb, photometric), words
        yield "few", cls.file(noise(1), cls.RGB), "damaged TIFF"
        yield "cut", cls.file(rgb, cls.RGB)[:3000], "a damaged TIFF: libtiff finds no page"
        yield "strips", cls.file(rgb, cls.RGB, tags={279: (4, [10] * 5)}), "libtiff can't decode its pixels from row 0 on"
