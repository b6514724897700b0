"""Draws lines over numbers, in an SVG file."""
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, FOOT = 860, 470, 76, 150, 84, 92
COLOURS = ["#d9480f", "#1864ab", "#2b8a3e", "#862e9c", "#495057"]
FONT = "font-family=\"system-ui, 'DejaVu Sans', sans-serif\""
DARK, GREY, PALE = "#212529", "#495057", "#e9ecef"


def text(x, y, content, size=13, anchor="start", weight="normal", fill=DARK):
    return (f'<text x="{x:.1f}" y="{y:.1f}" {FONT} font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" '
            f'fill="{fill}">{escape(content)}</text>')


def spread(places, least):
    """Moves places apart, so that no two are closer than `least`; keeps their order."""
    moved = []
    for place in sorted(places):
        moved.append(max(place, moved[-1] + least) if moved else place)
    order = sorted(range(len(places)), key=lambda at: places[at])
    back = [0.0] * len(places)
    for rank, at in enumerate(order):
        back[at] = moved[rank]
    return back


def draw(title, subtitle, across, foot, series):
    """Returns the SVG. `series` maps a line's name to its points [(x, y), ...]; both axes begin at 0; `across` names the
    axis of x. The first line is drawn thicker."""
    x_max = max(x for points in series.values() for x, _ in points)
    y_max = 1.05 * max(y for points in series.values() for _, y in points)

    def place(x, y):
        return LEFT + (WIDTH - LEFT - RIGHT) * x / x_max, HEIGHT - FOOT - (HEIGHT - TOP - FOOT) * y / y_max

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
             f'role="img" aria-label="{escape(title)}">', f"<title>{escape(title)}</title>",
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>', text(20, 34, title, 20, weight="bold"),
             text(20, 58, subtitle, fill=GREY)]
    step = next(step for step in (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1e9) if y_max / step <= 8)
    for number in range(int(y_max / step) + 1):
        (left, y), (right, _) = place(0, number * step), place(x_max, number * step)
        parts += [f'<line x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}" stroke="{PALE}"/>',
                  text(left - 8, y + 4, f"{number * step:g}", anchor="end", fill=GREY)]
    for x in sorted({x for points in series.values() for x, _ in points}):
        parts.append(text(place(x, 0)[0], HEIGHT - FOOT + 20, f"{x:g}", anchor="middle", fill=GREY))
    parts.append(text(place(x_max / 2, 0)[0], HEIGHT - FOOT + 44, across, anchor="middle", fill=GREY))
    ends = spread([place(*max(points))[1] for points in series.values()], 17)
    for number, (name, points) in enumerate(series.items()):
        colour, is_first = COLOURS[number % len(COLOURS)], number == 0
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in sorted(points)))
        parts += [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{3.5 if is_first else 2}" '
                  'stroke-linejoin="round"/>',
                  text(WIDTH - RIGHT + 10, ends[number] + 4, name, 14, weight="bold" if is_first else "normal", fill=colour)]
    parts.append(text(20, HEIGHT - 16, foot, 12, fill=GREY))
    return "\n".join([*parts, "</svg>"]) + "\n"
