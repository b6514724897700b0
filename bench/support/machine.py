"""The hardware in one line, and the page cache."""
import os
import re
from pathlib import Path

PICTURES = (".jpg", ".png", ".webp")


def hardware():
    """Describes the hardware, as in "2 cores of AMD EPYC (AVX-512), 23 GiB, virtual machine"."""
    cpuinfo = Path("/proc/cpuinfo").read_text()
    named = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    flags = set((re.search(r"^flags\s*:\s*(.+)$", cpuinfo, re.MULTILINE) or [""] * 2)[1].split())
    vectors = next((word for flag, word in (("avx512bw", "AVX-512"), ("avx2", "AVX2"), ("sse4_1", "SSE4")) if flag in flags), "")
    cores = len(os.sched_getaffinity(0))
    memory_kib = int(re.search(r"^MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text(), re.MULTILINE)[1])
    parts = [f"{cores} core{'s' * (cores != 1)} of {named[1].strip() if named else os.uname().machine}" +
             (f" ({vectors})" if vectors else ""), f"{round(memory_kib / 2 ** 20)} GiB"]
    return ", ".join(parts + ["virtual machine"] * ("hypervisor" in flags))


def pictures_of(folder, extensions=PICTURES, maker="make_corpus.py"):
    """Returns (paths, class numbers) of FOLDER/<class>/<name>.jpg, .png or .webp, or of files with other extensions, in the order
    of their names."""
    paths = sorted(path for path in Path(folder).glob("*/*") if path.suffix in extensions)
    if not paths:
        raise SystemExit(f"{folder} holds no <class>/<name>{extensions[0]}: make a corpus with deploy/{maker}.")
    classes = sorted({path.parent.name for path in paths})
    return [str(path) for path in paths], [classes.index(path.parent.name) for path in paths]


def warm_page_cache(paths):
    """Reads every file once, and returns the number of bytes that the files have together."""
    return sum(len(Path(path).read_bytes()) for path in paths)
