"""Classes of a comparison, and how one file comes into its class."""
import collections

import numpy as np

# Where spdld and the reference differ by design, by so much at most: levels of 255 of pictures and frames, and of sounds the unit
# of the last place of 16 bits. Pictures: docs/pipelines.md. JPEG: libjpeg's chroma is rounded otherwise, and Pillow's own library
# may be another one. AVIF and JPEG XL: Pillow's library is of another version. Sounds: floats of codecs that lose.
LEVELS = {"JPEG": 3, "MPO": 3, "AVIF": 3, "JXL": 1, "JPEG2000": 1}
UNIT = 1 / 32768
# Of videos spdld and swscale put chroma between pixels in different ways: luma counts, where no colour was cut off, and the mean
# of all colours.
LUMA_LEVELS, MEAN_LEVELS = 3, 4
CLASSES = ("equal", "within tolerance", "different", "refused by spdld alone", "refused by the reference alone",
           "refused by both", "crash", "time-out", "not compared")


class Verdict(collections.namedtuple("Verdict", "kind remark")):
    __slots__ = ()


def words(given):
    """The words of a side that gave no values; None: it gave some."""
    return next((given[key] for key in ("refused", "crash", "time-out") if key in given),
                None) if isinstance(given, dict) else None


def verdict_of(medium, reference, ours):
    """`ours`: an array, or a table with words; `reference`: a table with "values" or words."""
    for kind in ("crash", "time-out"):
        if isinstance(ours, dict) and kind in ours:
            return Verdict(kind, ours[kind])
    theirs, own = words(reference), words(ours)
    if theirs is not None and theirs.startswith("not compared"):
        return Verdict("not compared", theirs if own is None else f"{theirs}; spdld: {own}")
    if theirs is not None and own is not None:
        return Verdict("refused by both", f"spdld: {own}; reference: {theirs}")
    if theirs is not None:
        return Verdict("refused by the reference alone", theirs)
    if own is not None:
        return Verdict("refused by spdld alone",
                       own + (f"; the reference complains: {reference['complaint']}" if reference.get("complaint") else ""))
    return compared(medium, reference, ours)


def compared(medium, reference, ours):
    theirs = reference["values"]
    if ours.shape != theirs.shape:
        return Verdict("different", f"spdld gives {list(ours.shape)}, the reference {list(theirs.shape)}")
    if np.array_equal(ours, theirs):
        return Verdict("equal", "")
    differences = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
    if medium == "sound":
        largest = float(differences.max())
        remark = f"by at most {largest / UNIT:.3f} units of 16 bits"
        return Verdict("within tolerance" if largest <= UNIT else "different", remark)
    if medium == "video":
        return compared_frames(reference, ours.astype(np.float64), theirs.astype(np.float64))
    bound = LEVELS.get(reference["format"], 0)
    remark = f"by at most {int(differences.max())} levels, {differences.mean():.4f} on average"
    return Verdict("within tolerance" if differences.max() <= bound else "different", remark)


def compared_frames(reference, ours, theirs):
    whole = ((ours > 0) & (ours < 255) & (theirs > 0) & (theirs < 255)).all(-1)
    luma = np.abs((ours - theirs) @ np.array(reference["luma"]))[whole]
    mean, largest = np.abs(ours - theirs).mean(), luma.max() if luma.size else 0.0
    remark = f"luma by at most {largest:.1f} levels, colours by {mean:.2f} on average"
    return Verdict("within tolerance" if largest <= LUMA_LEVELS and mean <= MEAN_LEVELS else "different", remark)


def is_words(value):
    """Whether a value of Parquet's dump is the reason why there is none: digits have no blanks."""
    return isinstance(value, str) and ": " in value


def rows_alone(ours, theirs):
    """Of rows that the reference refuses with these words."""
    bad = [value for row in ours for value in row.values() if is_words(value) and "it is null" not in value]
    if not bad:
        return Verdict("refused by the reference alone", theirs)
    return Verdict("refused by both", f"spdld: {len(bad)} values, such as {bad[0]}; reference: {theirs}")


def compared_rows(reference, ours):
    """Of Parquet: tables of hexadecimal digits, or of words where a value is bad."""
    differing, bad, values = [], collections.Counter(), 0
    if len(reference) != len(ours):
        return Verdict("different", f"spdld gives {len(ours)} rows, pyarrow {len(reference)}")
    for row, (theirs, own) in enumerate(zip(reference, ours)):
        for name, wanted in theirs.items():
            values += 1
            given = own.get(name)
            if (wanted == "beyond" and is_words(given) and "beyond" in given
                    or wanted is None and (given is None or is_words(given) and "null" in given)):
                continue
            if given is None or is_words(given):
                bad[given.split(": ", 1)[1] if is_words(given) else f"there is no field {name}"] += 1
            elif given != wanted:
                differing.append(f"row {row}, {name}")
    if differing:
        return Verdict("different", f"{len(differing)} of {values} values: {', '.join(differing[:3])}")
    if bad:
        return Verdict("refused by spdld alone", "; ".join(f"{count} values: {why}" for why, count in bad.most_common(3)))
    return Verdict("equal", "")


def table(results):
    """Rows of formats, columns of classes."""
    counts = collections.defaultdict(collections.Counter)
    for one in results:
        counts[one["format"]][one["class"]] += 1
    used = [kind for kind in CLASSES if any(count[kind] for count in counts.values())]
    lines = ["| format | files | " + " | ".join(used) + " |", "| --- | ---: |" + " ---: |" * len(used)]
    for name, count in sorted(counts.items()):
        lines.append(f"| {name} | {sum(count.values())} | " + " | ".join(str(count[kind] or "") for kind in used) + " |")
    return "\n".join(lines)
