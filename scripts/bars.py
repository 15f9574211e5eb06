"""Draws docs/pictures/bars.svg and bars-dark.svg from the figures in docs/pictures/bars.json; scripts/reference.py writes them."""

import html
import json
import pathlib

PICTURES = pathlib.Path(__file__).resolve().parent.parent / "docs/pictures"
COLOURS = {
    "bars.svg": {"text": "#1c2024", "faint": "#60676f", "ours": "#0f8a7e", "others": "#c5ccd2"},
    "bars-dark.svg": {"text": "#e4e7ea", "faint": "#9aa2ab", "ours": "#35b8aa", "others": "#4a535a"},
}
WIDTH, NAMES, BAR, ROW = 860, 190, 500, 30


def draw(figures, colours):
    rows, y = [], 8
    for panel in figures["panels"]:
        y += 22
        rows.append(f'<text x="0" y="{y}" class="title">{html.escape(panel["title"])}<tspan class="faint" dx="8">{panel["better"]} is better</tspan></text>')
        y += 12
        largest = max(value for _, value in panel["bars"])
        for place, (name, value) in enumerate(panel["bars"]):
            length, fill = max(2, round(BAR * value / largest, 1)), colours["ours" if place == 0 else "others"]
            weight = ' font-weight="600"' if place == 0 else ""
            rows.append(f'<text x="{NAMES - 12}" y="{y + 17}" text-anchor="end"{weight}>{html.escape(name)}</text>')
            rows.append(f'<rect x="{NAMES}" y="{y + 3}" width="{length}" height="20" rx="3" fill="{fill}"/>')
            rows.append(f'<text x="{NAMES + length + 9}" y="{y + 17}"{weight}>{value:,}</text>')
            y += ROW
        y += 12
    style = f'text{{font:14px system-ui,-apple-system,"Segoe UI",sans-serif;fill:{colours["text"]}}}.title{{font-weight:600;font-size:15px}}.faint{{fill:{colours["faint"]};font-weight:400;font-size:13px}}'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" role="img">\n'
            f'<title>{html.escape(figures["about"])}</title>\n<style>{style}</style>\n' + "\n".join(rows) + "\n</svg>\n")


def pictures():
    """Text of each picture, by its path."""
    figures = json.loads((PICTURES / "bars.json").read_text())
    return {PICTURES / name: draw(figures, colours) for name, colours in COLOURS.items()}
