"""The parts of the works on videos and sounds that are the same for every loader."""
import random

import machine

CLIPS = {"clips": 1, "clips-4": 4}  # of a row, by the work

FRAMES, STRIDE = 16, 4
SPAN = (FRAMES - 1) * STRIDE + 1
VIDEOS = (".mp4",)

SOUNDS = (".flac", ".mp3", ".opus")
RATE, SECONDS = 16000, 10
MELS, WINDOW, HOP = 80, 400, 160


def files_of(work, folder):
    """Returns (paths, class numbers) of what a work reads: videos, sounds or pictures."""
    if work in CLIPS:
        return machine.pictures_of(folder, VIDEOS, "make_videos.py")
    return machine.pictures_of(folder, SOUNDS, "make_videos.py --audio") if work == "audio" else machine.pictures_of(folder)


def draw_numbers(frames, clips):
    """Returns the numbers of the frames of `clips` clips, each at a random start in a video of so many frames. The clips come
    in the order of their starts."""
    starts = sorted(random.randint(0, frames - SPAN) for _ in range(clips))
    return [start + place * STRIDE for start in starts for place in range(FRAMES)]


def mel_filters():
    """Returns the weights of the mel bands as float32 [MELS, WINDOW / 2 + 1]: triangles on the scale of Slaney's Auditory
    Toolbox, each with an area of one, which is what librosa draws by default."""
    import numpy
    linear, steps, knee = 200 / 3, 27 / numpy.log(6.4), 1000  # Hz a mel; mels for each e-fold; Hz from which on it is logarithmic

    def hertz(mels):
        return numpy.where(mels < knee / linear, mels * linear, knee * numpy.exp((mels - knee / linear) / steps))

    top = knee / linear + steps * numpy.log(RATE / 2 / knee)
    edges = hertz(numpy.linspace(0, top, MELS + 2))
    places = numpy.linspace(0, RATE / 2, WINDOW // 2 + 1)
    rising = (places - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - places) / (edges[2:] - edges[1:-1])[:, None]
    return (numpy.maximum(0, numpy.minimum(rising, falling)) * (2 / (edges[2:] - edges[:-2]))[:, None]).astype(numpy.float32)
