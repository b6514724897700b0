"""What a terminal shows, as a picture: the text of `tmux capture-pane -e` with its colours, drawn in a fixed font.

    terminal_picture.py PICTURE.png < CAPTURED
"""
import re
import sys
import unicodedata

from PIL import Image, ImageDraw, ImageFont

FONTS = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono{}.ttf"
SIZE, MARGIN = 15, 14
# The colours of a dark terminal: text, background, and SGR 31 to 33.
TEXT, BACKGROUND, STRONG, DIM = (204, 208, 214), (24, 27, 33), (250, 250, 250), (128, 134, 144)
COLOURS = {31: (240, 98, 98), 32: (126, 204, 108), 33: (232, 190, 88)}
SGR = re.compile(r"\x1b\[([0-9;]*)m")
OTHER_ESCAPE = re.compile(r"\x1b\[[^m]*?[A-Za-ln-z]|\x1b[()].|\x0e|\x0f")


class Ink:
    """How the next characters look."""

    def __init__(self):
        self.bold = self.dim = self.reversed = False
        self.colour = None

    def take(self, codes):
        for code in (int(code or 0) for code in codes.split(";")):
            if code == 0:
                self.__init__()
            elif code == 1:
                self.bold = True
            elif code == 2:
                self.dim = True
            elif code == 7:
                self.reversed = True
            elif code == 22:
                self.bold = self.dim = False
            elif code == 27:
                self.reversed = False
            elif code == 39:
                self.colour = None
            elif code in COLOURS:
                self.colour = COLOURS[code]

    def colours(self):
        text = self.colour or (STRONG if self.bold and not self.reversed else DIM if self.dim else TEXT)
        return (BACKGROUND, text) if self.reversed else (text, BACKGROUND)


def cells(line, ink):
    """(column, character, bold, colour, background) of a line; `ink` goes on from line to line."""
    column = 0
    for number, part in enumerate(SGR.split(OTHER_ESCAPE.sub("", line))):
        if number % 2:
            ink.take(part)
            continue
        for character in part:
            yield (column, character, ink.bold, *ink.colours())
            column += 2 if unicodedata.east_asian_width(character) in "WF" else 1


def picture(captured, columns):
    fonts = [ImageFont.truetype(FONTS.format(name), SIZE) for name in ("", "-Bold")]
    wide, high = round(fonts[0].getlength("M")), SIZE + 5
    lines = captured.rstrip("\n").split("\n")
    image = Image.new("RGB", (columns * wide + 2 * MARGIN, len(lines) * high + 2 * MARGIN), BACKGROUND)
    draw, ink = ImageDraw.Draw(image), Ink()
    for row, line in enumerate(lines):
        for column, character, bold, text, background in cells(line, ink):
            x, y = MARGIN + column * wide, MARGIN + row * high
            if background != BACKGROUND:
                draw.rectangle((x, y, x + wide - 1, y + high - 1), fill=background)
            draw.text((x, y + 1), character, fill=text, font=fonts[bold])
    # Few colours, so that the file is small.
    return image.quantize(128, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)


if __name__ == "__main__":
    text = sys.stdin.read()
    picture(text, max(len(SGR.sub("", line)) for line in text.split("\n"))).save(sys.argv[1], optimize=True)
