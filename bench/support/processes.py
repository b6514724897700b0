"""CPU time and memory of a process and of all processes below it, read from /proc."""
import contextlib
import os
from pathlib import Path

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
SLOT_NAME = "memfd:spdld-slot"  # how a mapping of a slot is named, at the daemon and at its trainers


def descendants(pid):
    """Returns the ids of all processes below `pid`, without `pid` itself. Processes that end meanwhile may be missing."""
    try:
        children = [int(child) for thread in Path(f"/proc/{pid}/task").iterdir()
                    for child in (thread / "children").read_text().split()]
    except OSError:
        return []
    return children + [below for child in children for below in descendants(child)]


def with_variable(variable):
    """Returns the ids of all processes but this one that have `variable`, as "NAME=value", in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # it has just ended
            is_other = folder.name.isdigit() and int(folder.name) != os.getpid()
            if is_other and variable.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def cpu_s(pid):
    """Returns the user and system time of a process with all its threads, and of the children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(int(field) for field in fields[11:15]) / TICKS_A_SECOND


def tree_cpu_s():
    """Returns the user and system time of this process and of all processes below it, living or waited for."""
    own = os.times()
    total = own.user + own.system + own.children_user + own.children_system
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):  # it ended between the two looks, and was not waited for yet
            total += cpu_s(pid)
    return total


def pss_bytes(pid):
    """Returns the proportional set size: a page that n processes share counts as 1/n for each. It is 0 for a process
    that has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))


def tree_pss_bytes(pid):
    return sum(pss_bytes(each) for each in [pid, *descendants(pid)])


def mappings(pid):
    """Returns (name, inode, resident bytes, proportional bytes) of each mapping of a process."""
    found = []
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        words = line.split()
        if not words[0].endswith(":"):  # "from-to flags offset device inode name"
            found.append([" ".join(words[5:]), int(words[4]), 0, 0])
        elif words[0] == "Rss:":
            found[-1][2] = int(words[1]) * 1024
        elif words[0] == "Pss:":
            found[-1][3] = int(words[1]) * 1024
    return found


def is_slot(name):
    return SLOT_NAME in name


def resident_without_slots(pid):
    return sum(resident for name, _, resident, _ in mappings(pid) if not is_slot(name))


def pss_without_slots(pid):
    return sum(share for name, _, _, share in mappings(pid) if not is_slot(name))


def slot_inodes(pid):
    return {inode for name, inode, _, _ in mappings(pid) if is_slot(name)}


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def descriptors_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))
