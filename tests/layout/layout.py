"""The order of the house, as one table, and a look at every source file whether it keeps to it."""
import re
from pathlib import Path

LOWEST = ("proto", "config", "config/condition")
SIBLINGS = ("source", "sampler", "media", "mixing", "memory")
# What stands above the media knows none of them, but for the values that `from` takes out of JSON.
BELOW_PIPELINE = (*LOWEST, "daemon/base", "daemon/store", *(f"daemon/{room}" for room in SIBLINGS), "daemon/media/text/json", "daemon/batch",
                  "daemon/cache", "daemon/rows")

# Room (a folder) -> the rooms whose headers it may include, beside its own; "NAME/" stands for all rooms below NAME. The
# longest folder that fits a file is its room.
ROOMS = {
    "proto": (),
    "proto/cuda": ("proto",),
    "config": ("config/condition",),
    "config/condition": (),
    "daemon/base": LOWEST,
    **{f"daemon/{room}": (*LOWEST, "daemon/base") for room in SIBLINGS},
    "daemon/source": (*LOWEST, "daemon/base", "daemon/store", "daemon/store/streams", "daemon/store/unpack"),
    # Tables: rows of text, of records, of arrays.
    "daemon/source/tables": (*LOWEST, "daemon/base", "daemon/store", "daemon/source"),
    "daemon/source/annotations": (*LOWEST, "daemon/base", "daemon/store", "daemon/source", "daemon/source/tables"),
    "daemon/source/parquet": (*LOWEST, "daemon/base", "daemon/store", "daemon/store/streams", "daemon/source", "daemon/source/tables"),
    **{f"daemon/media/{medium}": (*LOWEST, "daemon/base", "daemon/media") for medium in ("bytes", "array")},
    # A view's boxes and their classes are lists of numbers, as operations on text read them.
    "daemon/media/image": (*LOWEST, "daemon/base", "daemon/media", "daemon/media/text", "daemon/media/text/json"),
    **{f"daemon/media/image/{codec}": (*LOWEST, "daemon/base", "daemon/media", "daemon/media/image") 
       for codec in ("png", "webp", "tiff", "bmp", "gif", "avif", "jxl", "jpeg2000", "colour")},
    # Its pictures are coded as frames of videos are.
    "daemon/media/image/heif": (*LOWEST, "daemon/base", "daemon/media", "daemon/media/image", "daemon/media/ffmpeg"),
    "daemon/media/ffmpeg": (*LOWEST, "daemon/base", "daemon/media", "daemon/media/flac", "daemon/media/signal"),
    "daemon/media/flac": (),
    "daemon/media/signal": ("daemon/base",),
    "daemon/media/video": (*LOWEST, "daemon/base", "daemon/media", "daemon/media/image", "daemon/media/ffmpeg"),
    "daemon/media/audio": (*LOWEST, "daemon/base", "daemon/media", "daemon/media/ffmpeg", "daemon/media/signal"),
    # The coded data of a JPEG, without libjpeg.
    "daemon/media/image/baseline": (),
    "daemon/media/image/progressive": ("daemon/base", "daemon/media/image/baseline"),
    "daemon/media/image/jpeg": (*LOWEST, "daemon/base", "daemon/media", "daemon/media/image", "daemon/media/image/baseline", 
                                "daemon/media/image/progressive"),
    "daemon/media/text": (*LOWEST, "daemon/base", "daemon/media", "daemon/media/text/json"),
    "daemon/media/text/json": (*LOWEST, "daemon/base"),
    # Where bytes lie, and how they are read from there.
    "daemon/metrics": (*LOWEST, "daemon/base"),
    "daemon/store": (*LOWEST, "daemon/base"),
    "daemon/store/unpack": (*LOWEST, "daemon/base", "daemon/store"),
    "daemon/store/streams": (*LOWEST, "daemon/base", "daemon/store", "daemon/store/unpack"),
    "daemon/store/http": (*LOWEST, "daemon/base", "daemon/store"),
    "daemon/store/credentials": (*LOWEST, "daemon/base", "daemon/store/http"),
    "daemon/store/s3": (*LOWEST, "daemon/base", "daemon/store", "daemon/store/http", "daemon/store/credentials"),
    "daemon/store/remote": (*LOWEST, "daemon/base", "daemon/store", "daemon/store/http", "daemon/store/credentials",
                            "daemon/store/s3"),
    "daemon/memory": (*LOWEST, "proto/cuda", "daemon/base"),
    "daemon/cache": (*LOWEST, "daemon/base", "daemon/store", "daemon/source"),
    "daemon/rows": (*LOWEST, "daemon/base", "daemon/store", "daemon/source", "daemon/media"),
    "daemon/batch": (*LOWEST, "daemon/base", *(f"daemon/{room}" for room in SIBLINGS)),
    "daemon/pipeline": (*BELOW_PIPELINE,),
    "daemon/delivery": (*BELOW_PIPELINE,),
    "daemon/http": (*LOWEST, "daemon/base"),
    "daemon/control": (*BELOW_PIPELINE, "daemon/delivery"),
    "daemon/node": (*LOWEST, "proto/cuda", "daemon/"),
    "daemon": (*LOWEST, "daemon/"),  # main.cpp
    "client/include": (),
    "client/program": (),
    "client/src": ("proto", "proto/cuda", "client/include", "client/program"),
    "client/text": (),
    "client/sheet": (),
    "client/python": ("client/include", "client/text", "proto"),
    "client/cli": ("proto", "config", "client/include", "client/program", "client/text", "client/sheet"),
    "client/cli/doctor": ("proto", "proto/cuda", "config", "client/include", "client/cli"),
    "client/cli/top": ("proto", "config", "client/include", "client/text", "client/cli"),
    "tests/support": ("proto/", "config/", "daemon/", "client/", "tests/"),
    "tests": ("proto/", "config/", "daemon/", "client/", "tests/"),
    "bench": ("proto/", "config/", "daemon/", "client/", "bench/", "tests/support"),
    "deploy": (),
}

# Header (how its name begins) -> the files (how their paths begin) that alone may include it.
LIBRARIES = {
    "cuda": ("tests/cuda/",),
    "nvml.h": (),
    "libav": ("daemon/media/ffmpeg/", "bench/compare/"),
    "libsw": ("daemon/media/ffmpeg/",),
    "jpeglib.h": ("daemon/media/image/jpeg/", "tests/", "bench/"),
    "spng.h": ("daemon/media/image/png/", "tests/", "bench/"),
    "libdeflate.h": ("daemon/media/image/png/",),
    "zlib.h": ("daemon/media/image/png/", "client/sheet/png_file.cpp", "tests/"),
    "webp/": ("daemon/media/image/webp/",),
    "tiffio.h": ("daemon/media/image/tiff/",),
    "gif_lib.h": ("daemon/media/image/gif/",),
    "avif/": ("daemon/media/image/avif/",),
    "jxl/": ("daemon/media/image/jxl/",),
    "openjpeg.h": ("daemon/media/image/jpeg2000/",),
    "lcms2.h": ("daemon/media/image/colour/",),
    "simdjson.h": ("daemon/media/text/json/",),
    "arrow/": ("daemon/source/parquet/", "tests/source/parquet/"),
    "parquet/": ("daemon/source/parquet/", "tests/source/parquet/"),
    "toml++": ("config/document.cpp",),
    "hwy/": ("daemon/media/signal/", "daemon/media/flac/", "daemon/media/image/", "daemon/mixing/", "tests/media/image/"),
    "boost/asio": ("daemon/base/event_loop.cpp", "daemon/http/"),
    "boost/beast": ("daemon/http/",),
    "spdlog/": ("daemon/base/log.cpp",),
    "fmt/": ("daemon/base/log.cpp",),
    "CLI/": ("config/arguments.cpp",),
    "nlohmann/": ("config/document.cpp", "config/json.cpp", "tests/"),
    "curses.h": ("client/cli/top/terminal.cpp",),
    "curl/": ("daemon/store/http/",),
    "openssl/": ("daemon/store/s3/", "daemon/store/http/body_check.h"),
    "expat.h": ("daemon/base/xml_reader.cpp",),
    "isa-l": ("daemon/base/crc32c.cpp", "daemon/store/unpack/gzip.cpp"),
    "zstd": ("daemon/store/unpack/zstd.cpp", "tests/", "bench/"),
    "nanobind/": ("client/python/",),
    "systemd/": ("daemon/node/", "daemon/main.cpp"),
}

SOURCES = (".cpp", ".h", ".hpp", ".c", ".py")
LINES_MAX, LINES_WARNED = 500, 400
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


def files_of(root):
    tops = sorted({room.split("/")[0] for room in ROOMS})
    for path in sorted(file for top in tops for file in (root / top).rglob("*")):
        parts = path.relative_to(root).parts
        if path.suffix in SOURCES and path.is_file() and not any(part.startswith(".") or part == "build" for part in parts):
            yield "/".join(parts)


def look_at(root):
    """(faults, warnings), each a list of sentences; and how many files were looked at."""
    faults, warnings, seen, of_headers = [], [], 0, {}
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
