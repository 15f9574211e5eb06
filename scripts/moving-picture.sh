#!/usr/bin/env bash
# Makes the moving picture of README, docs/pictures/search.webp, and the still for those who print, docs/page.png, from the running console:
# a search with a typo, a facet, and the explanation of a hit. Look at both before you commit them.
# usage: [LAMINA=path of the binary] scripts/moving-picture.sh     (default: the debug build; needs Chromium and Node.js, installs Pillow with pip)
set -euo pipefail
cd "$(dirname "$0")/.."

CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "there is no Chromium" >&2; exit 1; }
FRAMES=$(mktemp -d)
export CHROMIUM FRAMES
trap 'rm -rf "$FRAMES"' EXIT
python3 -m venv "$FRAMES/venv"
"$FRAMES/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "pillow==12.0.0"

scripts/with-server.sh -- node scripts/moving-picture.mjs
"$FRAMES/venv/bin/python" - "$FRAMES" <<'END'
import json, pathlib, sys
from PIL import Image

MAX_BYTES = 2_000_000
folder = pathlib.Path(sys.argv[1])
frames = json.loads((folder / "frames.json").read_text())
pictures = [Image.open(folder / frame["file"]).convert("RGB") for frame in frames]
target = pathlib.Path("docs/pictures/search.webp")
for quality in (90, 80, 70, 60):
    pictures[0].save(target, save_all=True, append_images=pictures[1:], duration=[frame["ms"] for frame in frames], loop=0, quality=quality, method=4)
    if target.stat().st_size < MAX_BYTES:
        break
else:
    sys.exit(f"{target} has {target.stat().st_size} bytes")
still = next(frame for frame in frames if frame.get("still"))
Image.open(folder / still["file"]).convert("RGB").quantize(256, dither=Image.Dither.NONE).save("docs/page.png", optimize=True)
print(f"{target}: {len(frames)} frames, {sum(frame['ms'] for frame in frames) / 1000:.1f} s, quality {quality}, {target.stat().st_size:,} bytes")
END
