"""LlamaIndex: an index as a retriever. Needs: pip install llama-index-core meilisearch"""

import meilisearch
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode


class LaminaRetriever(BaseRetriever):
    """Finds documents for whole questions."""

    def __init__(self, index, text_field, url="http://127.0.0.1:7700", key=None, limit=5, search=None):
        self.client = meilisearch.Client(url, key).index(index)
        self.text_field = text_field
        # Words that a hit lacks count against it, instead of leaving it out. With an embedder: {"hybrid": {"embedder": "NAME"}}
        self.parameters = {"limit": limit, "showRankingScore": True, **(search or {"matchingStrategy": "any"})}
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self.client.search(query_bundle.query_str, self.parameters)["hits"]
        return [
            NodeWithScore(
                node=TextNode(id_=str(hit.get("id", place)), text=str(hit.get(self.text_field, "")), metadata=hit),
                score=hit["_rankingScore"],
            )
            for place, hit in enumerate(hits)
        ]


if __name__ == "__main__":
    import os

    retriever = LaminaRetriever("films", "overview", url=os.environ.get("LAMINA_URL", "http://127.0.0.1:7700"))
    for found in retriever.retrieve("Which film is about a creature on a spaceship?"):
        print(found.node.metadata["title"], "-", found.score)
