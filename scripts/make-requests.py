#!/usr/bin/env python3
"""Make search requests of many kinds from a corpus of catalogue documents, for the load generator in benches/.

usage: make-requests.py CORPUS.ndjson [--count 400] [--index bench] [--seed 5] > requests.ndjson
Words are drawn from titles and descriptions, so they come as often as the documents have them.
"""
import argparse, itertools, json, random, re, sys

WORD = re.compile(r"[A-Za-z]{3,}")
FACETS = ["category", "tags", "brand", "rating"]


def typo(rng, word):
    at, letter = rng.randrange(1, len(word) - 1), rng.choice("aeiourstln")
    other = [letter + word[at + 1:], word[at + 1:], word[at + 1] + word[at] + word[at + 2:]]
    return word[:at] + rng.choice(other)


def text_requests(rng, title, text):
    at = rng.randrange(len(text) - 6)
    whole = " ".join(title)
    yield "one_word", {"q": rng.choice(text)}
    yield "two_words", {"q": " ".join(rng.sample(text, 2))}
    yield "title", {"q": whole}
    yield "typo", {"q": " ".join(typo(rng, word) if len(word) > 5 else word for word in title)}
    yield "prefix1", {"q": rng.choice(text)[:1]}
    yield "prefix3", {"q": rng.choice(text)[:3]}
    yield "phrase", {"q": '"' + " ".join(text[at:at + 3]) + '"'}
    yield "long", {"q": " ".join(text[at:at + 6])}
    yield "as_you_type", {"q": whole[:rng.randrange(1, len(whole) + 1)]}
    yield "question", {"q": " ".join(rng.sample(text, min(10, len(text)))), "matchingStrategy": "any"}


def other_requests(rng, text, categories):
    two = " ".join(rng.sample(text, 2))
    point = f"{rng.uniform(-60, 60):.3f}, {rng.uniform(-170, 170):.3f}"
    yield "filter", {"q": two, "filter": f'category = "{rng.choice(categories)}" AND price < {rng.randrange(5, 60)}'}
    yield "facets", {"q": rng.choice(text), "facets": FACETS}
    yield "facets_placeholder", {"q": "", "facets": FACETS, "offset": rng.randrange(500)}
    yield "sort", {"q": rng.choice(text), "sort": ["price:asc"]}
    order = rng.choice(["price:desc", "released:asc"])
    yield "sort_placeholder", {"q": "", "sort": [order], "offset": rng.randrange(500)}
    yield "geo", {"q": "", "filter": f"_geoRadius({point}, 500000)", "sort": ["_geoPoint(48.8,2.3):asc"]}
    yield "highlight_crop", {"q": two, "attributesToHighlight": ["*"], "attributesToCrop": ["description"]}


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("corpus")
    options.add_argument("--count", type=int, default=400, help="requests of each kind")
    options.add_argument("--index", default="bench")
    options.add_argument("--seed", type=int, default=5)
    options = options.parse_args()
    rng = random.Random(options.seed)
    with open(options.corpus, "rb") as corpus:
        documents = [json.loads(line) for line in itertools.islice(corpus, 20000)]
    categories = sorted({document["category"] for document in documents})
    path, made = f"/indexes/{options.index}/search", 0
    while made < options.count:
        document = rng.choice(documents)
        title, text = WORD.findall(document["title"]), WORD.findall(document["description"])
        if len(title) < 2 or len(text) < 8:
            continue
        made += 1
        for kind, body in itertools.chain(text_requests(rng, title, text), other_requests(rng, text, categories)):
            json.dump({"kind": kind, "path": path, "body": body}, sys.stdout)
            print()


main()
