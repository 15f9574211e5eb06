#!/usr/bin/env python3
"""Makes a small labelled set for `lamina evaluate`: documents with vectors, and queries with the documents that answer.

usage: scripts/labelled-set.py FOLDER     (writes documents.ndjson, queries.ndjson and settings.json there)

Every document is about a thing with a name of its own and some subjects, in words chosen among synonyms. Vectors are those of
an honest but limited model: synonyms are one to it, names say nothing, and it errs a little. So names are found by words,
subjects by vectors, and who asks for "the Velora for cooking outdoors" needs both. The same files in every run.
"""
import json
import pathlib
import random
import sys

DIMENSIONS = 48
DOCUMENTS = 2000
QUERIES = 300

SUBJECTS = [
    "cook stew roast simmer grill", "garden plant prune sow harvest", "car vehicle automobile motor drive",
    "cheap affordable budget inexpensive thrifty", "quiet silent noiseless hushed muted",
    "child kid toddler infant youngster", "repair mend fix restore overhaul", "journey trip travel voyage tour",
    "doctor physician medic clinician surgeon", "house home dwelling cottage residence",
    "light lamp lantern bulb candle", "water rain flood river stream", "music song melody tune chorus",
    "dog puppy hound terrier spaniel", "cold frost ice winter snow", "fast quick rapid swift speedy",
    "book novel volume paperback manuscript", "picture photo image portrait snapshot", "strong sturdy robust durable tough",
    "teacher tutor instructor lecturer coach", "bread loaf bun roll bakery", "clock watch timer chronometer hour",
    "forest wood grove thicket jungle", "boat ship ferry canoe yacht", "coat jacket parka anorak cloak",
    "money cash coin currency banknote", "happy glad cheerful merry joyful", "sleep nap doze slumber rest",
    "outdoor open-air field camp wilderness", "clean wash scrub rinse polish", "bicycle bike cycle tandem pedal",
    "fire blaze flame ember bonfire",
]
SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]


def main(folder):
    chance = random.Random(11)
    words = [subject.split() for subject in SUBJECTS]
    directions = [[chance.gauss(0, 1) for _ in range(DIMENSIONS)] for _ in SUBJECTS]

    def vector(subjects, error):
        sums = [sum(directions[s][i] for s in subjects) + chance.gauss(0, error) for i in range(DIMENSIONS)]
        length = sum(value * value for value in sums) ** 0.5
        return [round(value / length, 4) for value in sums]

    # Fewer names than documents: several things share one, as brands do.
    names = ["".join(chance.choice(SYLLABLES) for _ in range(3)).capitalize() for _ in range(DOCUMENTS // 8)]
    documents = []
    for number in range(DOCUMENTS):
        name, subjects = chance.choice(names), chance.sample(range(len(SUBJECTS)), 3)
        text = " ".join(chance.choice(words[s]) for s in subjects)
        documents.append((number, name, subjects, text))
    with open(folder / "documents.ndjson", "w", encoding="utf8") as file:
        for number, name, subjects, text in documents:
            document = {"id": number, "name": name, "about": text, "_vectors": {"model": vector(subjects, 0.8)}}
            file.write(json.dumps(document) + "\n")
    with open(folder / "queries.ndjson", "w", encoding="utf8") as file:
        for kind in (["name", "subjects", "both", "both"] * QUERIES)[:QUERIES]:
            number, name, subjects, _ = chance.choice(documents)
            asked = subjects[:2]
            text = " ".join(chance.choice(words[s]) for s in asked)
            relevant = {}
            for other, other_name, other_subjects, _ in documents:
                about = all(s in other_subjects for s in asked)
                if kind == "name" and other_name == name or kind == "subjects" and about:
                    relevant[str(other)] = 1
                elif kind == "both" and (other_name == name or about):
                    relevant[str(other)] = 3 if other_name == name and about else 1
            query = {"name": name, "subjects": text, "both": f"{name} {text}"}[kind]
            # A name alone means nothing to the model.
            meaning = [] if kind == "name" else asked
            search = {"vector": vector(meaning, 0.8)}
            file.write(json.dumps({"q": query, "relevant": relevant, "search": search}) + "\n")
    embedder = {"source": "userProvided", "dimensions": DIMENSIONS}
    settings = {"searchableAttributes": ["name", "about"], "embedders": {"model": embedder}}
    (folder / "settings.json").write_text(json.dumps(settings) + "\n", encoding="utf8")


if len(sys.argv) != 2:
    sys.exit(__doc__)
target = pathlib.Path(sys.argv[1])
target.mkdir(parents=True, exist_ok=True)
main(target)
