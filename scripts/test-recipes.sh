#!/usr/bin/env bash
# Runs the recipes of docs/recipes against the debug build; installs what they need into target/recipes.
# usage: [LAMINA=path of the binary] scripts/test-recipes.sh
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$PWD/target/recipes
if ! [[ -x $venv/bin/python ]]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check langchain-core llama-index-core meilisearch "mcp>=2"
fi
export venv
scripts/with-server.sh -- bash -c '
  set -euo pipefail
  curl -sf "$LAMINA_URL/indexes/films/documents?wait=searchable" -H "Content-Type: application/json" --data-binary @- >/dev/null <<END
[{"id": 1, "title": "Alien", "overview": "The crew of a spaceship meets a creature."},
 {"id": 2, "title": "Up", "overview": "An old man flies with balloons."},
 {"id": 3, "title": "Heat", "overview": "A detective hunts a thief."}]
END
  for recipe in docs/recipes/*.py; do
    said=$("$venv/bin/python" "$recipe")
    [[ $said == Alien* ]] || { echo "$recipe: $said" >&2; exit 1; }
  done
  "$venv/bin/python" - <<END
import asyncio, os
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

async def main():
    async with streamable_http_client(os.environ["LAMINA_URL"] + "/mcp?index=films") as streams:
        async with ClientSession(*streams[:2]) as session:
            await session.initialize()
            tools = [tool.name for tool in (await session.list_tools()).tools]
            assert "search" in tools, tools
            result = await session.call_tool("search", {"q": "spaceshp"})
            assert result.structured_content["hits"][0]["title"] == "Alien", result

asyncio.run(main())
END
  echo "recipes: passed"'
