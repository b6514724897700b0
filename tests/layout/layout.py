"""The order of the house, as one table, and a look at every source file whether it keeps to it."""
import re

LOWEST = ("utf8", "proto", "config", "config/condition", "config/text")
BASE = (*LOWEST, "daemon/base", "daemon/base/system", "daemon/base/formats")
STORE = ("daemon/store", "daemon/store/streams", "daemon/store/unpack")
# Rooms of `source`, lowest first.
SOURCE = ("daemon/source", "daemon/source/kept", "daemon/source/files", "daemon/source/lists", "daemon/source/archives",
          "daemon/source/folders", "daemon/source/tables/reading", "daemon/source/tables", "daemon/source/tables/coco",
          "daemon/source/annotations", "daemon/source/parquet", "daemon/source/fetching", "daemon/source/opening")
# Rooms of pictures, lowest first; each may include those before it.
PICTURES = ("daemon/media/image/codecs", "daemon/media/image/kernels", "daemon/media/image/adjustments",
            "daemon/media/image/geometry", "daemon/media/image/programs", "daemon/media/image/forms", "daemon/media/image",
            "daemon/media/image/operations")
FFMPEG = ("daemon/media/ffmpeg/libraries", "daemon/media/ffmpeg/packets", "daemon/media/ffmpeg/sound",
          "daemon/media/ffmpeg/pictures", "daemon/media/ffmpeg")
SIBLINGS = ("daemon/source", "daemon/source/files", "daemon/source/fetching", "daemon/source/lists",
            "daemon/sampler", "daemon/media", "daemon/mixing", "daemon/memory")
# What stands above the media knows none of them, but for the values that `from` takes out of JSON.
BELOW_PIPELINE = (*BASE, "daemon/store", *SIBLINGS, "daemon/media/text/json", "daemon/batch", "daemon/cache", "daemon/rows")
NODE = ("daemon/node/settings", "daemon/node/access", "daemon/node/pipelines", "daemon/node/seats",
        "daemon/node/reports", "daemon/node")
BELOW_NODE = (*BELOW_PIPELINE, "daemon/pipeline", "daemon/pipeline/order", "daemon/delivery", "daemon/control", "daemon/metrics",
              "daemon/http", "daemon/store/remote", "daemon/user")
CLIENT = ("client/src/calls", "client/src/crew", "client/src/gpu", "client/src/ring", "client/src")
CLI = ("utf8", "proto", "config", "config/text", "config/checks", "client/include", "client/program", "client/text")


def before(rooms, room):
    return rooms[:rooms.index(room)]


def each_after(rooms, below):
    """Rooms that each may include the rooms before them, and what is below all of them."""
    return {room: (*below, *before(rooms, room)) for room in rooms}


# Room (a folder, with the folders in it that are no rooms) -> the rooms whose headers it may include, beside its own; "NAME/"
# stands for all rooms below NAME. The longest folder that fits a file is its room. docs/architecture.md has a sentence on each.
ROOMS = {
    "utf8": (),
    "proto": ("utf8",),
    "proto/cuda": ("proto",),
    "config": ("config/condition", "config/text"),
    "config/text": ("utf8",),
    "config/condition": ("utf8",),
    "config/operations": ("config", "config/text"),
    "config/batch_operations": ("config", "config/text", "config/operations"),
    "config/sources": ("config", "config/text"),
    "config/checks": ("utf8", "config", "config/text"),
    "daemon/base/system": LOWEST,
    "daemon/base": (*LOWEST, "daemon/base/system"),
    "daemon/base/formats": (*LOWEST, "daemon/base"),
    "daemon/metrics": BASE,
    "daemon/http": BASE,
    # Where bytes lie, and how they are read from there.
    "daemon/store": BASE,
    "daemon/store/unpack": (*BASE, "daemon/store"),
    "daemon/store/streams": (*BASE, "daemon/store", "daemon/store/unpack"),
    "daemon/store/http": (*BASE, "daemon/store"),
    "daemon/store/credentials": (*BASE, "config/checks", "daemon/store/http"),
    "daemon/store/s3": (*BASE, "daemon/store", "daemon/store/http", "daemon/store/credentials"),
    "daemon/store/remote": (*BASE, "daemon/store", "daemon/store/http", "daemon/store/credentials", "daemon/store/s3"),
    **each_after(SOURCE, (*BASE, *STORE)),
    "daemon/source/tables": (*BASE, "daemon/store", *before(SOURCE, "daemon/source/tables")),
    "daemon/source/fetching": (*BASE, "daemon/store", "daemon/source", "daemon/source/files"),
    "daemon/cache/entries": (*BASE, "daemon/store"),
    "daemon/cache/memory": (*BASE, "daemon/store", "daemon/cache/entries"),
    "daemon/cache/disk": (*BASE, "daemon/store", "daemon/source", "daemon/cache/entries"),
    "daemon/cache": (*BASE, "daemon/store", "daemon/cache/entries", "daemon/cache/memory", "daemon/cache/disk"),
    "daemon/sampler": BASE,
    "daemon/media": BASE,
    "daemon/media/bytes": (*BASE, "daemon/media"),
    "daemon/media/array": (*BASE, "daemon/media"),
    "daemon/media/text": (*BASE, "daemon/media", "daemon/media/text/json"),
    "daemon/media/text/json": BASE,
    "daemon/media/flac": (),
    "daemon/media/signal": ("daemon/base",),
    **each_after(FFMPEG, (*BASE, "daemon/media", "daemon/media/flac", "daemon/media/signal")),
    # A view's boxes and their classes are lists of numbers, as operations on text read them.
    **each_after(PICTURES, (*BASE, "config/operations", "daemon/media", "daemon/media/text", "daemon/media/text/json")),
    **{f"daemon/media/image/codecs/{codec}": (*BASE, "daemon/media", "daemon/media/image/codecs")
       for codec in ("png", "webp", "tiff", "bmp", "gif", "avif", "jxl", "jpeg2000", "colour")},
    # Its pictures are coded as frames of videos are.
    "daemon/media/image/codecs/heif": (*BASE, "daemon/media", "daemon/media/image/codecs", "daemon/media/ffmpeg/pictures"),
    # The coded data of a JPEG, without libjpeg.
    "daemon/media/image/codecs/baseline": (),
    "daemon/media/image/codecs/progressive": ("daemon/base", "daemon/media/image/codecs/baseline"),
    "daemon/media/image/codecs/jpeg": (*BASE, "daemon/media", "daemon/media/image/codecs", "daemon/media/image/codecs/baseline",
                                       "daemon/media/image/codecs/progressive"),
    "daemon/media/video": (*BASE, "daemon/media", *PICTURES, *FFMPEG),
    "daemon/media/audio": (*BASE, "config/operations", "daemon/media", "daemon/media/signal", *FFMPEG),
    "daemon/mixing": BASE,
    "daemon/memory": (*BASE, "proto/cuda"),
    "daemon/rows": (*BASE, "daemon/store", "daemon/source", "daemon/source/kept", "daemon/source/files", "daemon/media"),
    "daemon/batch": (*BASE, *SIBLINGS),
    "daemon/pipeline/forms": BELOW_PIPELINE,
    "daemon/pipeline/order": (*BELOW_PIPELINE, "daemon/pipeline/forms"),
    "daemon/pipeline": (*BELOW_PIPELINE, "daemon/pipeline/forms", "daemon/pipeline/order"),
    "daemon/delivery": BELOW_PIPELINE,
    "daemon/control": (*BELOW_PIPELINE, "daemon/delivery"),
    "daemon/user": (*BELOW_PIPELINE, "daemon/pipeline", "daemon/delivery", "daemon/control"),
    **each_after(NODE, (*BELOW_NODE, "daemon/source/opening", "config/checks", "proto/cuda")),
    "daemon": (*LOWEST, "config/checks", "daemon/"),  # main.cpp
    "client/include": (),
    "client/program": (),
    **each_after(CLIENT, ("utf8", "proto", "proto/cuda", "client/include", "client/program")),
    "client/text": ("utf8",),
    "client/sheet": ("utf8",),
    "client/python": ("client/include", "client/src/crew", "client/text", "proto"),
    "client/cli": (*CLI,),
    "client/cli/bench": (*CLI, "client/cli"),
    "client/cli/state": (*CLI, "client/cli"),
    "client/cli/show": (*CLI, "config/operations", "client/sheet", "client/cli", "client/cli/bench"),
    "client/cli/doctor": (*CLI, "proto/cuda", "client/cli"),
    "client/cli/top": (*CLI, "client/cli", "client/cli/state"),
    "tests/support": ("utf8", "proto/", "config/", "daemon/", "client/", "tests/"),
    "tests": ("utf8", "proto/", "config/", "daemon/", "client/", "tests/"),
    "bench": ("utf8", "proto/", "config/", "daemon/", "client/", "bench/", "tests/support", "tests/support/"),
    "deploy": (),
}

# Header (how its name begins) -> the files (how their paths begin) that alone may include it.
LIBRARIES = {
    "cuda": ("tests/cuda/",),
    "nvml.h": (),
    "libav": ("daemon/media/ffmpeg/", "bench/compare/"),
    "libsw": ("daemon/media/ffmpeg/",),
    "jpeglib.h": ("daemon/media/image/codecs/jpeg/", "tests/", "bench/"),
    "spng.h": ("daemon/media/image/codecs/png/", "tests/", "bench/"),
    "libdeflate.h": ("daemon/media/image/codecs/png/",),
    "zlib.h": ("daemon/media/image/codecs/png/", "client/sheet/png_file.cpp", "tests/"),
    "webp/": ("daemon/media/image/codecs/webp/",),
    "tiffio.h": ("daemon/media/image/codecs/tiff/",),
    "gif_lib.h": ("daemon/media/image/codecs/gif/",),
    "avif/": ("daemon/media/image/codecs/avif/",),
    "jxl/": ("daemon/media/image/codecs/jxl/",),
    "openjpeg.h": ("daemon/media/image/codecs/jpeg2000/",),
    "lcms2.h": ("daemon/media/image/codecs/colour/",),
    "simdjson.h": ("daemon/media/text/json/",),
    "arrow/": ("daemon/source/parquet/", "tests/source/parquet/"),
    "parquet/": ("daemon/source/parquet/", "tests/source/parquet/"),
    "toml++": ("config/checks/document.cpp",),
    "hwy/": ("daemon/media/signal/", "daemon/media/flac/", "daemon/media/image/", "daemon/mixing/", "tests/media/image/"),
    "boost/asio": ("daemon/base/system/event_loop.cpp", "daemon/http/"),
    "boost/beast": ("daemon/http/",),
    "spdlog/": ("daemon/base/system/log.cpp",),
    "fmt/": ("daemon/base/system/log.cpp",),
    "CLI/": ("config/text/arguments.cpp",),
    "nlohmann/": ("config/checks/document.cpp", "config/text/json.cpp", "tests/"),
    "curses.h": ("client/cli/top/terminal.cpp",),
    "curl/": ("daemon/store/http/",),
    "openssl/": ("daemon/store/s3/", "daemon/store/http/body_check.h"),
    "expat.h": ("daemon/base/formats/xml_reader.cpp",),
    "isa-l": ("daemon/base/formats/crc32c.cpp", "daemon/store/unpack/gzip.cpp"),
    "zstd": ("daemon/store/unpack/zstd.cpp", "tests/", "bench/"),
    "nanobind/": ("client/python/",),
    "systemd/": ("daemon/node/", "daemon/main.cpp"),
}

ANY_ORDER = ("tests", "tests/support", "bench", "daemon")  # above everything, in any order; "daemon" is main.cpp alone

SOURCES = (".cpp", ".h", ".hpp", ".c", ".py")
LINES_MAX, LINES_WARNED = 500, 400
FILES_MAX = 42  # source files in one folder: more of them is a room that a newcomer does not find his way in
COLUMNS_MAX = 130  # of the Python package; clang-format looks after C and C++

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
# Comments, texts and characters: what `new` in them says is not code. A ' between digits is no character's.
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^()\\ \n]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'',
                      re.DOTALL)
BARE_NEW = re.compile(r"(?<!operator )\bnew\b\s*(?:\(\s*std::nothrow\s*\)\s*)?[A-Za-z_:]")
BARE_DELETE = re.compile(r"(?<!operator )(?<!= )(?<!=)\bdelete\b\s*(?:\[\s*\])?\s*[A-Za-z_:(*]")


def room_of(path):
    """The room of a file (a path from the root), or None."""
    fitting = [room for room in ROOMS if path.startswith(room + "/")]
    return max(fitting, key=len, default=None)


def may_include(room, target):
    """Whether files of `room` may include the file `target` (a path from the root)."""
    return any(target.startswith(allowed) if allowed.endswith("/") else room_of(target) == allowed
               for allowed in (room, *ROOMS[room]))


def include_faults(root, path, text):
    room = room_of(path)
    for kind, target in INCLUDE.findall(text):
        if kind == "<":
            for header, allowed in LIBRARIES.items():
                if target.startswith(header) and not path.startswith(allowed):
                    yield f"{path}: includes <{target}>, which only {', '.join(allowed)} may"
        elif target.endswith("_generated.h"):
            if not may_include(room, target):
                yield f'{path}: includes "{target}", which {room} must not: it is not below it'
        elif not (root / target).is_file():
            yield f'{path}: includes "{target}", which is no path from the root'
        elif not may_include(room, target):
            yield f'{path}: includes "{target}", which {room} must not: it is not below it'


def blank(text):
    """The text with what is not code taken out."""
    return NOT_CODE.sub(lambda found: "\n" * found[0].count("\n") or " ", text)


def memory_faults(path, text):
    for number, line in enumerate(blank(INCLUDE.sub("", text)).splitlines(), 1):
        for pattern, word in ((BARE_NEW, "new"), (BARE_DELETE, "delete")):
            if pattern.search(line):
                yield f"{path}:{number}: bare {word}; use std::make_unique, a container or a handle"


def width_faults(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > COLUMNS_MAX:
            yield f"{path}:{number}: {len(line)} columns, at most {COLUMNS_MAX} are allowed"


def constants_of(text):
    """The constants that are declared at the margin, where the declarations of a namespace stand."""
    return {name for line in re.findall(r"^(?:inline )?constexpr ([^;]*);", text, re.MULTILINE)
            for name in re.findall(r"\b(k[A-Z]\w*)(?: =|\{|\[| \{)", line)}


def hiding_faults(path, text, of_headers):
    """In a unity build, other files of the room would take a file's own constant for the header's of the same name."""
    for unnamed in re.findall(r"^namespace \{$(.*?)^\}  // namespace$", text, re.MULTILINE | re.DOTALL):
        for name in sorted(constants_of(unnamed) & of_headers):
            yield f"{path}: {name} hides the constant of a header of this room: give it another name"


def crowding_faults(paths):
    folders = {}
    for path in paths:
        folders[path.rpartition("/")[0]] = folders.get(path.rpartition("/")[0], 0) + 1
    for folder, count in sorted(folders.items()):
        if count > FILES_MAX:
            yield f"{folder}: {count} source files, at most {FILES_MAX} are allowed: it holds more than one room"


def rings():
    """Rooms that include one another, by way of others or directly, by the table."""
    below = {room: {other for other in ROOMS if other != room and any(
        other.startswith(name) if name.endswith("/") else other == name for name in allowed)} for room, allowed in ROOMS.items()}
    for room in ROOMS:
        seen, more = set(), {room}
        while more:
            more = set().union(*(below[one] for one in more)) - seen
            seen |= more
        if room in seen and room not in ANY_ORDER:
            yield room


def described_rooms(page):
    """Room -> its sentence, of the table of docs/architecture.md."""
    return dict(re.findall(r"^\| `([\w/]+)/` \| ([^|]+?) \|", page, re.MULTILINE))


def files_of(root):
    tops = sorted({room.split("/")[0] for room in ROOMS})
    for path in sorted(file for top in tops for file in (root / top).rglob("*")):
        parts = path.relative_to(root).parts
        if path.suffix in SOURCES and path.is_file() and not any(part.startswith(".") or part == "build" for part in parts):
            yield "/".join(parts)


def look_at(root):
    """(faults, warnings), each a list of sentences; and how many files were looked at."""
    faults, warnings, seen, of_headers = [], [], 0, {}
    faults += crowding_faults(files_of(root))
    for path in files_of(root):
        if path.endswith(".h"):
            of_headers.setdefault(room_of(path), set()).update(constants_of((root / path).read_text()))
    for path in files_of(root):
        seen += 1
        text = (root / path).read_text()
        lines = text.count("\n")
        if lines > LINES_MAX:
            faults.append(f"{path}: {lines} lines, at most {LINES_MAX} are allowed: it holds more than one thing")
        elif lines > LINES_WARNED:
            warnings.append(f"{path}: {lines} lines, {LINES_WARNED} would be enough")
        if path.endswith(".py"):
            faults += width_faults(path, text) if path.startswith("client/") else []
            continue
        if room_of(path) is None:
            faults.append(f"{path}: belongs to no room of tests/layout/layout.py")
            continue
        faults += include_faults(root, path, text)
        faults += memory_faults(path, text)
        if path.endswith(".cpp") and not path.startswith("tests/"):
            faults += hiding_faults(path, text, of_headers.get(room_of(path), set()))
    return faults, warnings, seen
