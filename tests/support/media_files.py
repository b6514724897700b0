"""Short videos and sounds in folders of classes, by the program ffmpeg."""
import subprocess

VIDEOS = (("mp4", "libx264 -g 12 -bf 2"), ("webm", "libvpx -g 20 -b:v 300k"), ("avi", "mpeg4 -g 12 -bf 2"),
          ("mkv", "libx264 -g 250"))
SOUNDS = ("flac", "mp3", "opus", "wav")
WAIT_S = 60


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *arguments], check=True, timeout=WAIT_S)


def place_of(folder, medium, label, name):
    """Returns folder/<medium>/class-<label>/<name>, whose folder is there."""
    path = folder / medium / f"class-{label}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return str(path)


def make_media(folder, of_each):
    """Makes folder/videos and folder/sounds with `of_each` files of each ending, in two classes in turns, of 1.5 s and more."""
    for number in range(of_each):
        seconds = 1.5 + number / 2
        for place, (ending, codec) in enumerate(VIDEOS):
            source = f"testsrc2=size=176x112:rate=15:duration={seconds},hue=h={40 * (4 * number + place)}"
            ffmpeg("-f", "lavfi", "-i", source, "-pix_fmt", "yuv420p", "-c:v", *codec.split(),
                   place_of(folder, "videos", number % 2, f"{place}-{number}.{ending}"))
        for place, ending in enumerate(SOUNDS):
            source = (f"aevalsrc=sin({500 + 90 * place}*t*t)*0.4+random({number})*0.2|cos({300 + 50 * number}"
                      f"*t):s=44100:d={seconds}")
            ffmpeg("-f", "lavfi", "-i", source, place_of(folder, "sounds", number % 2, f"{place}-{number}.{ending}"))
