"""Draws the CPU time for one picture as bars, in an SVG file."""
from html import escape

import figures
import machine
import rows

WIDTH, LEFT, RIGHT, TOP, STEP, BAR, FOOT = 860, 266, 90, 84, 30, 20, 46
OURS, OTHERS, YARDSTICK = "#d9480f", "#adb5bd", "#495057"
FONT = "font-family=\"system-ui, 'DejaVu Sans', sans-serif\""

TRAIN, CLIPS = "random-resized-crop 224, flip, normalise, float32", "CPU time for one clip"
TEXTS = {"train": ("JPEG to training batch: CPU time for one picture", TRAIN),
         "validate": ("JPEG to validation batch: CPU time for one picture", "resize 256, center-crop 224, normalise, float32"),
         "clips": (f"Video to training batch: {CLIPS}", f"16 frames, {TRAIN}"),
         "clips-4": (f"Video to training batch: {CLIPS}", f"4 clips of 16 frames, {TRAIN}"),
         "audio": ("Sound to training batch: CPU time for ten seconds", "16 kHz, mono, 80 mel bands, float32")}


def text(x, y, content, size=14, anchor="start", weight="normal", fill="#212529"):
    return (f'<text x="{x}" y="{y}" {FONT} font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" '
            f'fill="{fill}">{escape(content)}</text>')


def bar(row, milliseconds, scale, y):
    ours = row.peer == "spdld"
    fill, weight = (OURS, "bold") if ours else (YARDSTICK if row.name in rows.YARDSTICKS else OTHERS, "normal")
    long = max(1.0, milliseconds * scale)
    return [text(LEFT - 10, y + 15, row.title, anchor="end", weight=weight),
            f'<rect x="{LEFT}" y="{y}" width="{long:.1f}" height="{BAR}" rx="2" fill="{fill}"/>',
            text(round(LEFT + long + 8, 1), y + 15, f"{milliseconds:.2f} ms", weight=weight, fill=OURS if ours else "#212529")]


def draw(lines, arguments):
    """Draws the chart from `lines`, which run.measure_all returns."""
    of_name = {row.name: row for row in rows.EVERY}
    taken = sorted((figures.medians(of_row)["cpu_ms"], name) for name, of_row in lines.items())
    scale = (WIDTH - LEFT - RIGHT) / max(taken[-1][0], 1e-9)
    height = TOP + STEP * len(taken) + FOOT
    title, work = TEXTS.get(arguments.work, ("JPEG to 224 x 224: CPU time for one picture", "resize, uint8"))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
             f'role="img" aria-label="{escape(title)}">', f"<title>{escape(title)}</title>",
             f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>', text(20, 34, title, 20, weight="bold"),
             text(20, 58, f"user + system time of all processes; less is better; {work}", 13, fill="#495057")]
    for place, (milliseconds, name) in enumerate(taken):
        parts += bar(of_name[name], milliseconds, scale, TOP + STEP * place)
    parts.append(text(20, height - 18, f"{machine.hardware()}; {arguments.threads} threads, batches of {arguments.batch}; "
                      f"medians of {arguments.rounds} rounds", 12, fill="#495057"))
    return "\n".join([*parts, "</svg>"]) + "\n"
