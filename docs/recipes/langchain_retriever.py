"""LangChain: an index as a retriever. Needs: pip install langchain-core meilisearch"""

import meilisearch
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


class LaminaRetriever(BaseRetriever):
    """Finds documents for whole questions."""

    index: str
    text_field: str
    url: str = "http://127.0.0.1:7700"
    key: str | None = None
    limit: int = 5
    # Words that a hit lacks count against it, instead of leaving it out. With an embedder: {"hybrid": {"embedder": "NAME"}}
    search: dict = {"matchingStrategy": "any"}

    def _get_relevant_documents(self, query: str, *, run_manager=None) -> list[Document]:
        client = meilisearch.Client(self.url, self.key)
        parameters = {"limit": self.limit, "showRankingScore": True, **self.search}
        hits = client.index(self.index).search(query, parameters)["hits"]
        return [Document(page_content=str(hit.get(self.text_field, "")), metadata=hit) for hit in hits]


if __name__ == "__main__":
    import os

    retriever = LaminaRetriever(url=os.environ.get("LAMINA_URL", "http://127.0.0.1:7700"), index="films", text_field="overview")
    for document in retriever.invoke("Which film is about a creature on a spaceship?"):
        print(document.metadata["title"], "-", document.page_content)
