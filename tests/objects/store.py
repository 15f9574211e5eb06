"""Snapshots and replicas through an object store that checks signatures as AWS's own library computes them.

usage: store.py BINARY
The store is moto's, in this process; AWS's client fetches from it what the server sent. Says what it found, or fails.
"""

import json
import logging
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import boto3
from moto import settings as store_settings
from moto.server import ThreadedMotoServer

BUCKET, REGION, PREFIX = "backups", "eu-central-1", "of tests/é"
EVERYTHING = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]})
TRUST = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRoleWithWebIdentity"}]})


def ask(url, method="GET", body=None):
    request = urllib.request.Request(
        url, method=method, data=None if body is None else json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


class Server:
    """A Lamina of its own, in a folder of its own."""

    def __init__(self, binary, *options):
        self.folder = tempfile.TemporaryDirectory(prefix="lamina-objects-")
        path = os.path.join(self.folder.name, "log")
        command = [binary, "--db-path", "data", "--http-addr", "127.0.0.1:0", "--experimental-allowed-ip-networks", "127.0.0.1"]
        with open(path, "w") as log:
            self.process = subprocess.Popen([*command, *options], cwd=self.folder.name, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        found = None
        while not found:
            with open(path) as log:
                text = log.read()
            found = re.search(r"^Listening on +(\S+)\n", text, re.MULTILINE)
            assert self.process.poll() is None, text
            time.sleep(0.05)
        self.url = found.group(1)

    def task(self, answer):
        while True:
            task = ask(f"{self.url}/tasks/{answer['taskUid']}")
            if task["finishedAt"]:
                return task
            time.sleep(0.05)

    def contents(self):
        """Documents and settings of all indexes."""
        uids = [index["uid"] for index in ask(self.url + "/indexes?limit=1000")["results"]]
        return {uid: [ask(f"{self.url}/indexes/{uid}/{what}") for what in ("documents?limit=100000", "settings")] for uid in uids}

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)


def reached_at(replica, generation):
    """The statistics of the index on a replica, once it has a generation. A request waits for some seconds only, and a busy machine takes longer."""
    deadline = time.monotonic() + 120
    while True:
        try:
            return ask(f"{replica.url}/indexes/films/stats?minGeneration={generation}")
        except urllib.error.HTTPError as error:
            if error.code != 409 or time.monotonic() > deadline:
                raise


def main():
    binary = os.path.abspath(sys.argv[1])
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    store = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    # Requests that prepare it; from then on it wants signatures and permissions.
    store_settings.INITIAL_NO_AUTH_ACTION_COUNT = 5
    store.start()
    host, port = store.get_host_and_port()
    url = f"http://{host}:{port}"

    def client(service, key="unknown", secret="nothing"):
        return boto3.client(service, endpoint_url=url, region_name=REGION, aws_access_key_id=key, aws_secret_access_key=secret)

    iam = client("iam")
    iam.create_user(UserName="lamina")
    iam.put_user_policy(UserName="lamina", PolicyName="all", PolicyDocument=EVERYTHING)
    key = iam.create_access_key(UserName="lamina")["AccessKey"]
    access, secret = key["AccessKeyId"], key["SecretAccessKey"]
    role = iam.create_role(RoleName="backups", AssumeRolePolicyDocument=TRUST)["Role"]["Arn"]
    iam.put_role_policy(RoleName="backups", PolicyName="all", PolicyDocument=EVERYTHING)
    s3 = client("s3", access, secret)
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})

    bucket = [
        f"--s3-bucket-url={url}", f"--s3-bucket-region={REGION}", f"--s3-bucket-name={BUCKET}", f"--s3-snapshot-prefix={PREFIX}",
        "--experimental-s3-multipart-part-size=5 MiB",
    ]
    choose = random.Random(1)
    # Nothing that compresses well: the store takes parts of five mebibytes and more.
    documents = [{"id": id, "text": " ".join(f"{choose.getrandbits(64):x}" for _ in range(120))} for id in range(4000)]
    servers = []
    try:
        server = Server(binary, *bucket, f"--s3-access-key={access}", f"--s3-secret-key={secret}")
        servers.append(server)
        assert server.task(ask(server.url + "/indexes/films/documents", "POST", documents))["status"] == "succeeded"
        assert server.task(ask(server.url + "/indexes/films/settings", "PATCH", {"synonyms": {"movie": ["film"]}}))["status"] == "succeeded"
        task = server.task(ask(server.url + "/snapshots", "POST"))
        assert task["status"] == "succeeded", task
        [found] = s3.list_objects_v2(Bucket=BUCKET)["Contents"]
        assert found["Key"] == PREFIX + "/data.snapshot", found
        parts = int(found["ETag"].strip('"').split("-")[1])
        assert parts >= 2, found
        assert not s3.list_multipart_uploads(Bucket=BUCKET).get("Uploads"), "an upload is left"
        archive = os.path.join(server.folder.name, "fetched.snapshot")
        s3.download_file(BUCKET, found["Key"], archive)
        restored = Server(binary, f"--import-snapshot={archive}")
        servers.append(restored)
        assert restored.contents() == server.contents()
        assert len(restored.contents()["films"][0]["results"]) == len(documents)
        print(f"a snapshot of {found['Size']} bytes in {parts} parts is the same after its way through the store")

        wrong = Server(binary, *bucket, f"--s3-access-key={access}", f"--s3-secret-key={secret[::-1]}")
        servers.append(wrong)
        task = wrong.task(ask(wrong.url + "/snapshots", "POST"))
        assert task["error"]["code"] == "invalid_s3_snapshot_request" and "SignatureDoesNotMatch" in task["error"]["message"], task
        print("a wrong signature is refused with a reason")

        token = os.path.join(server.folder.name, "token")
        with open(token, "w") as file:
            file.write("a token of another")
        taking = Server(
            binary, *bucket, f"--experimental-s3-role-arn={role}", f"--experimental-s3-web-identity-token-file={token}", f"--s3-sts-url={url}"
        )
        servers.append(taking)
        # Who takes a role signs nothing, which this store does not know: it is to believe one more request.
        store_settings.INITIAL_NO_AUTH_ACTION_COUNT += 1
        task = taking.task(ask(taking.url + "/snapshots", "POST"))
        assert task["status"] == "succeeded", task
        [second] = s3.list_objects_v2(Bucket=BUCKET)["Contents"]
        assert second["Size"] < found["Size"], "an empty database takes the place of the other"
        print("the keys of a role are accepted")

        group = [*bucket, f"--s3-access-key={access}", f"--s3-secret-key={secret}"]
        publisher = Server(binary, *group, f"--publish=s3://{BUCKET}/replicas of é")
        servers.append(publisher)
        replica = Server(binary, *group, f"--follow=s3://{BUCKET}/replicas of é")
        servers.append(replica)
        # One file in parts, and small ones.
        for some in (documents * 6)[: 5 * len(documents)], documents[:10]:
            some = [{**document, "id": id} for id, document in enumerate(some)]
            task = publisher.task(ask(publisher.url + "/indexes/films/documents", "POST", some))
            assert task["status"] == "succeeded", task
            reached = reached_at(replica, task["batchUid"])
            assert reached["numberOfDocuments"] == 5 * len(documents), reached
        assert replica.contents() == publisher.contents()
        print("a replica has what was published")
    finally:
        for server in servers:
            server.stop()
        store.stop()
    print("object store: passed")


main()
