import instantsearch from "instantsearch.js";
import { hits, pagination, refinementList, searchBox, stats } from "instantsearch.js/es/widgets";
import { instantMeiliSearch } from "@meilisearch/instant-meilisearch";

const { searchClient } = instantMeiliSearch(import.meta.env.VITE_LAMINA ?? "http://127.0.0.1:7700", "", { finitePagination: true });
const search = instantsearch({ indexName: "films", searchClient });

search.addWidgets([
  searchBox({ container: "#box", placeholder: "wizrad of oz" }),
  stats({ container: "#stats" }),
  refinementList({ container: "#genres", attribute: "genres", sortBy: ["count:desc"] }),
  hits({
    container: "#hits",
    templates: {
      item: (hit, { html, components }) => html`
        <h2>${components.Highlight({ hit, attribute: "title" })} <small>${hit.year}</small></h2>
        <p>${components.Snippet({ hit, attribute: "overview" })}</p>`,
      empty: "No films",
    },
  }),
  pagination({ container: "#pages" }),
]);
search.start();
