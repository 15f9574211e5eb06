"""Runs the examples of the guide, in their order, against a running server: LAMINA_URL says where.

Blocks of `sh`, `python` and `javascript` are run as they stand, but for the address; the word `not-run` after the language
leaves a block out.
"""

import os
import re
import subprocess
import sys

ADDRESS = "http://127.0.0.1:7700"
# A refusal is a failure of the example, and how far a transfer is does not matter.
SHELL = 'curl() { command curl --fail-with-body --silent --show-error --max-time 30 "$@"; }\n'
LANGUAGES = {
    "sh": ["bash", "-euo", "pipefail", "-c"],
    "python": [sys.executable, "-c"],
    "javascript": ["node", "--input-type=module", "-e"],
}

count = 0
for page in sys.argv[1:]:
    with open(page) as file:
        text = file.read()
    for block in re.finditer(r"^```(\w+)( not-run)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        language, is_left_out, code = block.groups()
        if language not in LANGUAGES or is_left_out:
            continue
        code = (SHELL if language == "sh" else "") + code.replace(ADDRESS, os.environ["LAMINA_URL"])
        folder = os.environ["LAMINA_NODE"] if language == "javascript" else None
        ran = subprocess.run([*LANGUAGES[language], code], cwd=folder, capture_output=True, text=True)
        if ran.returncode != 0:
            line = text[: block.start()].count("\n") + 1
            sys.exit(f"{page}:{line}: the example fails\n{ran.stdout}{ran.stderr}")
        count += 1
assert count > 10, count
print(f"guide: {count} examples passed")
