#!/usr/bin/env python3
"""`lamina sync` with a real PostgreSQL: a table is loaded, changed all the while, and database, server and command are killed
with -9 again and again. In the end the index must hold exactly the rows of the table. Then everything that PostgreSQL does not send
and everything that may happen to an index meanwhile: what comes of each is equality, or a refusal that says what to do.
With --tls the database takes encrypted connections only, and the command verifies its certificate (openssl makes it).
usage: scripts/test-sync.py [--tls] [--kinds] [--binary FILE] [--rows 100000] [--rate 1000] [--seconds 30] [--kills 9]
Needs PostgreSQL (apt-get install postgresql) and runs it in a folder of its own."""
import argparse, glob, json, os, random, shutil, signal, subprocess, sys, tempfile, time, urllib.request

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("--binary", default="target/debug/lamina")
arguments.add_argument("--rows", type=int, default=100_000)
arguments.add_argument("--rate", type=int, default=1000, help="changes a second")
arguments.add_argument("--seconds", type=int, default=30)
arguments.add_argument("--kills", type=int, default=9)
arguments.add_argument("--seed", type=int, default=1)
arguments.add_argument("--tls", action="store_true", help="sslmode=verify-full, with an authority made for this run")
arguments.add_argument("--kinds", action="store_true", help="only the kinds of changes at the end")
options = arguments.parse_args()
chance = random.Random(options.seed)

programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
if not programs:
    sys.exit("SKIPPED: there is no PostgreSQL (apt-get install postgresql)")
folder = tempfile.mkdtemp()
os.chmod(folder, 0o755)
PORT, LAMINA_PORT = 20_000 + os.getpid() % 20_000, 40_000 + os.getpid() % 20_000
URL = f"http://127.0.0.1:{LAMINA_PORT}"
data = os.path.join(folder, "postgres")
os.mkdir(data)
PARAMETERS = f"?sslmode=verify-full&sslrootcert={folder}/ca.pem" if options.tls else "?sslmode=disable"
# PostgreSQL does not run as root.
as_owner = []
if os.getuid() == 0:
    as_owner = ["runuser", "-u", "postgres", "--"]
    shutil.chown(data, "postgres")


def postgres(name, *rest, **more):
    return subprocess.run([*as_owner, os.path.join(programs[-1], name), *rest], check=True, cwd="/", **more)


def psql(sql, **more):
    command = ["psql", "-h", "127.0.0.1", "-p", str(PORT), "-U", "postgres", "-AtqX", "-c", sql]
    return subprocess.run(command, text=True, capture_output=True, **more)


def certify():
    """An authority, and a certificate of it for 127.0.0.1; returns the settings of PostgreSQL that use it."""
    def openssl(*rest):
        subprocess.run(["openssl", *rest], check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for name in ["ca", "another"]:
        openssl("req", "-x509", *curve, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2", "-subj", f"/CN=authority {name}")
    with open(os.path.join(folder, "names"), "w") as file:
        file.write("subjectAltName=IP:127.0.0.1\n")
    openssl("req", *curve, "-keyout", os.path.join(data, "server.key"), "-out", "server.csr", "-subj", "/CN=database")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names",
            "-out", os.path.join(data, "server.crt"))
    for name in ["server.key", "server.crt"]:
        os.chmod(os.path.join(data, name), 0o600)
        if as_owner:
            shutil.chown(os.path.join(data, name), "postgres")
    with open(os.path.join(data, "pg_hba.conf"), "w") as file:
        file.write("local all all trust\nhostssl all all 127.0.0.1/32 trust\nhostssl replication all 127.0.0.1/32 trust\n")
    return "ssl=on\n"


def start_postgres():
    postgres("pg_ctl", "-D", data, "-l", os.path.join(data, "log"), "-w", "start", stdout=subprocess.DEVNULL)


def start_lamina():
    log = open(os.path.join(folder, "lamina.log"), "ab")
    command = [options.binary, "--db-path", os.path.join(folder, "db"), "--http-addr", f"127.0.0.1:{LAMINA_PORT}", "--keep", "1h"]
    return subprocess.Popen(command, stdout=log, stderr=log)


def start_sync(*more):
    command = [options.binary, "sync", f"postgres://postgres@127.0.0.1:{PORT}/postgres{PARAMETERS}", "--table", "films", "--index", "films",
               "--url", URL, *more]
    return subprocess.Popen(command, stdout=sync_log, stderr=sync_log)


def ask(path, body=None):
    request = urllib.request.Request(URL + path, json.dumps(body).encode() if body is not None else None,
                                     {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))


def until(what, done, seconds=120):
    end = time.time() + seconds
    while True:
        try:
            if done():
                return
        # Between two requests documents come and go.
        except (OSError, AssertionError):
            pass
        if time.time() > end:
            sys.exit(f"not so after {seconds} s: {what}\n" + open(os.path.join(folder, "sync.log")).read()[-2000:])
        time.sleep(0.05)


def documents():
    found, page = {}, None
    while page is None or len(page) == 1000:
        page = ask("/indexes/films/documents/fetch", {"limit": 1000, "offset": len(found)})["results"]
        found.update((document["id"], document) for document in page)
    assert len(found) == ask("/indexes/films/stats")["numberOfDocuments"], "no document twice"
    return found


def rows():
    lines = psql("SELECT row_to_json(f) FROM films f", check=True).stdout.splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


def change():
    """A statement, most often on rows that are there."""
    row = chance.randrange(1, options.rows * 11 // 10)
    return chance.choice([
        f"UPDATE films SET title = 'Film {chance.random()}', seen = now()::timestamp WHERE id = {row};",
        f"UPDATE films SET year = year + 1, tags = tags || 'changed' WHERE id = {row};",
        f"DELETE FROM films WHERE id = {row};",
        f"INSERT INTO films (id, title, year) VALUES ({row}, 'new \"one\"', 2000) ON CONFLICT (id) DO UPDATE SET title = 'again';",
        f"UPDATE films SET id = id + 1000000 WHERE id = {row};",
        f"BEGIN; UPDATE films SET extra = '{{\"a\": [{row}]}}' WHERE id = {row}; DELETE FROM films WHERE id = {row + 1}; COMMIT;",
        f"BEGIN; DELETE FROM films WHERE id = {row}; ROLLBACK;",
    ])


def write_changes(seconds):
    """Changes at the rate, through one connection; a database that is away takes none."""
    writer, begin, sent = None, time.time(), 0
    while time.time() < begin + seconds:
        if writer is None or writer.poll() is not None:
            writer = subprocess.Popen(["psql", "-h", "127.0.0.1", "-p", str(PORT), "-U", "postgres", "-qX"], stdin=subprocess.PIPE,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
        try:
            writer.stdin.write("".join(change() + "\n" for _ in range(max(1, options.rate // 20))))
            writer.stdin.flush()
            sent += max(1, options.rate // 20)
        except OSError:
            writer = None
        yield
        time.sleep(max(0, begin + sent / options.rate - time.time()))
    if writer:
        try:
            writer.stdin.close()
            writer.wait()
        except OSError:
            pass


def request(method, path, body=None):
    sent = urllib.request.Request(URL + path, json.dumps(body).encode() if body is not None else None, {"Content-Type": "application/json"}, method=method)
    return json.load(urllib.request.urlopen(sent))


def wait_for(task):
    while (state := ask(f"/tasks/{task['taskUid']}"))["status"] in ("enqueued", "processing"):
        time.sleep(0.02)
    assert state["status"] == "succeeded", state


class Kind:
    """A table of its own, and an index that follows it."""
    count = 0

    def __init__(self, create, only="SELECT row_to_json(t) FROM ONLY t t", user="postgres"):
        Kind.count += 1
        self.name, self.only, self.user = f"kind{Kind.count}", only, user
        self.run(f"CREATE SCHEMA {self.name}; SET search_path TO {self.name}; {create}")

    def run(self, sql):
        done = psql(f"SET search_path TO {self.name}; {sql}")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def sync(self, *more, table="t", index=None, slot=None):
        index = index or self.name
        command = [options.binary, "sync", f"postgres://{self.user}@127.0.0.1:{PORT}/postgres{PARAMETERS}", "--table", f"{self.name}.{table}", "--index", index,
                   "--url", URL, "--once", *(["--slot", slot] if slot else []), *more]
        done = subprocess.run(command, text=True, capture_output=True, timeout=180)
        return done.returncode, done.stderr

    def rows(self):
        return sorted((json.loads(line) for line in self.run(self.only).splitlines() if line.startswith("{")), key=lambda row: row["id"])

    def documents(self, index=None):
        return sorted(ask(f"/indexes/{index or self.name}/documents/fetch", {"limit": 1000})["results"], key=lambda document: document["id"])

    def is_level(self, what, *says, index=None):
        status, said = self.sync(index=index)
        assert status == 0 and all(one in said for one in says), (what, status, said)
        assert self.documents(index) == self.rows(), (what, self.documents(index), self.rows())

    def is_refused(self, what, *says, **more):
        status, said = self.sync(**more)
        assert status != 0 and all(one in said for one in says), (what, status, said)

    def drop(self):
        subprocess.run([options.binary, "sync", f"postgres://postgres@127.0.0.1:{PORT}/postgres{PARAMETERS}", "--table", "t", "--index", self.name, "--url", URL, "--remove"],
                       capture_output=True, timeout=60)
        psql(f"DROP SCHEMA {self.name} CASCADE")


def followed_or_refused():
    plain = "CREATE TABLE t (id int PRIMARY KEY, a text, n int); INSERT INTO t SELECT g, 'row ' || g, g FROM generate_series(1, 5) g"
    AGAIN = "loading the table again"
    # Tables that inherit.
    kind = Kind(f"{plain}; CREATE TABLE heir (b text, PRIMARY KEY (id)) INHERITS (t); INSERT INTO heir VALUES (9, 'heir', 9, 'b')")
    kind.is_level("own rows of a parent", "1 table, which")
    kind.run("UPDATE heir SET a = 'new'; INSERT INTO heir VALUES (10, 'x', 1, 'b'); UPDATE t SET a = 'all'; INSERT INTO t VALUES (6, 'six', 6)")
    kind.is_level("rows of an heir are not followed")
    kind.run("TRUNCATE ONLY heir")
    kind.is_level("an heir is truncated")
    kind.drop()
    # Partitions.
    parts = ("CREATE TABLE t (id int PRIMARY KEY, a text) PARTITION BY RANGE (id); CREATE TABLE p1 PARTITION OF t FOR VALUES FROM (0) TO (10);"
             "CREATE TABLE p2 PARTITION OF t FOR VALUES FROM (10) TO (20); CREATE TABLE p3 PARTITION OF t FOR VALUES FROM (20) TO (40) PARTITION BY RANGE (id);"
             "CREATE TABLE p31 PARTITION OF p3 FOR VALUES FROM (20) TO (30); INSERT INTO t SELECT g, 'row ' || g FROM generate_series(1, 29) g")
    kind = Kind(parts, "SELECT row_to_json(t) FROM t t")
    kind.is_level("partitions", "loaded 29 rows")
    kind.run("UPDATE t SET a = 'new' WHERE id % 3 = 0; UPDATE t SET id = id + 10 WHERE id = 9 AND false; DELETE FROM t WHERE id = 15")
    kind.is_level("changes of partitions")
    for what, sql in [("truncated", "TRUNCATE p1"), ("detached", "ALTER TABLE t DETACH PARTITION p2"), ("attached with rows", "INSERT INTO p2 VALUES (11, 'while away') ON CONFLICT (id) DO UPDATE SET a = 'changed'; ALTER TABLE t ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20)"),
                      ("dropped", "DROP TABLE p31"), ("detached and attached", "ALTER TABLE t DETACH PARTITION p2; UPDATE p2 SET a = 'aside'; ALTER TABLE t ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20)")]:
        kind.run(sql)
        kind.is_level(f"a partition is {what}", AGAIN)
    kind.run("TRUNCATE t; INSERT INTO t VALUES (1, 'one')")
    kind.is_level("a partitioned table is truncated")
    kind.drop()
    # Another table, other columns, another key.
    kind = Kind(plain)
    kind.is_level("a table")
    for what, sql in [("made anew", "DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, z int); INSERT INTO t VALUES (2, 2)"),
                      ("a column with a default", "ALTER TABLE t ADD b text DEFAULT 'later'"), ("a column without", "ALTER TABLE t ADD c text"),
                      ("renamed", "ALTER TABLE t RENAME b TO d"), ("dropped", "ALTER TABLE t DROP c"), ("another type", "ALTER TABLE t ALTER z TYPE text USING 'z' || z"),
                      ("the same type", "ALTER TABLE t ALTER z TYPE text USING 'y' || z"), ("added and dropped, between", "ALTER TABLE t ADD e int; UPDATE t SET e = 1; ALTER TABLE t DROP e"),
                      ("digits", "ALTER TABLE t ADD m numeric(6, 3) DEFAULT 1.256"), ("fewer digits", "ALTER TABLE t ALTER m TYPE numeric(6, 1)")]:
        kind.run(sql)
        kind.is_level(what, AGAIN)
    kind.run("ALTER TABLE t ALTER z SET DEFAULT 'x'; INSERT INTO t (id) VALUES (77)")
    kind.is_level("a default")
    psql(f"VACUUM FULL {kind.name}.t", check=True)
    status, said = kind.sync()
    assert status == 0 and "loaded" not in said, said
    kind.run("TRUNCATE t; INSERT INTO t (id) VALUES (3)")
    kind.is_level("truncated")
    kind.run("ALTER TABLE t REPLICA IDENTITY FULL; UPDATE t SET z = 'full'; DELETE FROM t WHERE id = 3; INSERT INTO t (id) VALUES (4)")
    kind.is_level("whole rows")
    kind.run("ALTER TABLE t REPLICA IDENTITY NOTHING")
    kind.is_refused("no identity", "REPLICA IDENTITY DEFAULT")
    kind.run("ALTER TABLE t REPLICA IDENTITY DEFAULT; ALTER TABLE t DROP CONSTRAINT t_pkey")
    kind.is_refused("no key", "ADD PRIMARY KEY")
    kind.run("ALTER TABLE t ADD k int UNIQUE NOT NULL DEFAULT 1; ALTER TABLE t ADD PRIMARY KEY (k)")
    kind.is_refused("another key", "choose another --index")
    kind.run("DROP TABLE t")
    kind.is_refused("no table", "has no table")
    kind.drop()
    kind = Kind("CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE t (id int PRIMARY KEY, m mood); INSERT INTO t VALUES (1, 'sad')")
    kind.is_level("an enumeration")
    kind.run("ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'")
    kind.is_level("a renamed value", AGAIN)
    kind.drop()
    # Publications of the user.
    version = int(psql("SHOW server_version_num").stdout)
    kind = Kind(plain, "SELECT json_build_object('id', id, 'n', n) FROM t WHERE id > 2" if version >= 150_000 else "SELECT row_to_json(t) FROM t t")
    given = " (id, n) WHERE (id > 2)" if version >= 150_000 else ""
    kind.run(f"CREATE PUBLICATION lamina_{kind.name} FOR TABLE t{given} WITH (publish = 'insert')")
    kind.is_refused("only insertions", "SET (publish = 'insert, update, delete, truncate')")
    kind.run(f"ALTER PUBLICATION lamina_{kind.name} SET (publish = 'insert, update, delete, truncate')")
    kind.is_level("what is published")
    kind.run("UPDATE t SET a = 'not sent', n = n + 1; INSERT INTO t VALUES (0, 'hidden', 0), (9, 'shown', 9); UPDATE t SET id = 10 WHERE id = 1; UPDATE t SET id = 2 - id WHERE id = 3; DELETE FROM t WHERE id = 4")
    kind.is_level("changes that are published")
    if version >= 150_000:
        kind.run(f"ALTER PUBLICATION lamina_{kind.name} SET TABLE t (id, n) WHERE (id > 2 AND id <> 5); UPDATE t SET n = 1")
        kind.only = "SELECT json_build_object('id', id, 'n', n) FROM t WHERE id > 2 AND id <> 5"
        kind.is_level("another condition", AGAIN)
    kind.run(f"DROP PUBLICATION lamina_{kind.name}; UPDATE t SET n = 7")
    kind.only = "SELECT row_to_json(t) FROM t t"
    kind.is_level("no publication", AGAIN)
    kind.drop()
    # Row security.
    kind = Kind(f"{plain}; CREATE ROLE reader LOGIN REPLICATION; GRANT USAGE ON SCHEMA kind{Kind.count + 1} TO reader; GRANT SELECT ON t TO reader; ALTER TABLE t ENABLE ROW LEVEL SECURITY;"
                f"CREATE POLICY few ON t USING (id < 3); CREATE PUBLICATION lamina_kind{Kind.count + 1} FOR TABLE t", user="reader")
    kind.is_refused("row security", "BYPASSRLS")
    kind.run("ALTER ROLE reader BYPASSRLS")
    kind.is_level("with the right to pass", "loaded 5 rows")
    kind.run("ALTER ROLE reader NOBYPASSRLS")
    kind.is_refused("row security later", "BYPASSRLS")
    kind.drop()
    psql("DROP ROLE reader")
    # The slot.
    kind = Kind(plain)
    kind.is_level("a table")
    kind.run(f"SELECT pg_drop_replication_slot('lamina_{kind.name}'); UPDATE t SET n = 50; DELETE FROM t WHERE id = 1")
    kind.is_level("the slot is dropped", "loaded")
    kind.run(f"UPDATE t SET n = 60; DELETE FROM t WHERE id = 2; SELECT pg_drop_replication_slot('lamina_{kind.name}')")
    kind.run(f"SELECT pg_create_logical_replication_slot('lamina_{kind.name}', 'pgoutput')")
    kind.is_refused("another slot of the name", "--again")
    assert kind.sync("--again")[0] == 0
    kind.is_level("loaded again")
    # The index.
    wait_for(request("DELETE", f"/indexes/{kind.name}"))
    kind.run("UPDATE t SET n = 51")
    kind.is_level("the index is deleted", "loaded")
    wait_for(request("DELETE", f"/indexes/{kind.name}/documents"))
    kind.is_level("all documents are deleted", "loaded")
    for what, change in [("a document is deleted", lambda: request("DELETE", f"/indexes/{kind.name}/documents/3")),
                         ("a document is added", lambda: request("POST", f"/indexes/{kind.name}/documents", [{"id": 99}])),
                         ("a document is changed", lambda: request("PATCH", f"/indexes/{kind.name}/documents", [{"id": 3, "set": {"n": 1}}])),
                         ("documents are imported", lambda: request("PUT", f"/indexes/{kind.name}/documents", [{"id": 3, "n": 0}]))]:
        wait_for(change())
        kind.is_refused(what, "written by others", "--again")
        kind.run("UPDATE t SET n = n + 1")
        kind.is_refused(f"{what}, and rows changed", "--again")
        status, said = kind.sync("--again")
        assert status == 0 and kind.documents() == kind.rows(), said
    wait_for(request("PATCH", f"/indexes/{kind.name}/settings", {"sortableAttributes": ["n"]}))
    kind.is_level("settings are changed")
    state = ask(f"/indexes/{kind.name}/generations")["results"][0]["generation"]
    wait_for(request("POST", f"/indexes/{kind.name}/clone", {"uid": f"{kind.name}-clone"}))
    kind.run("UPDATE t SET n = n + 1; INSERT INTO t VALUES (30, 'thirty', 30)")
    kind.is_level("changes")
    wait_for(request("POST", f"/indexes/{kind.name}/restore", {"at": state}))
    kind.is_refused("an earlier state is restored", "earlier state", "--again")
    assert kind.sync("--again")[0] == 0
    wait_for(request("POST", "/swap-indexes", [{"indexes": [kind.name, f"{kind.name}-clone"]}]))
    kind.is_refused("swapped", "--again")
    wait_for(request("POST", "/swap-indexes", [{"indexes": [kind.name, f"{kind.name}-clone"]}]))
    kind.is_level("swapped back")
    # An alias.
    wait_for(request("PUT", f"/aliases/{kind.name}-alias", {"indexUid": kind.name}))
    status, said = kind.sync(index=f"{kind.name}-alias", slot=f"lamina_{kind.name}")
    assert status == 0, said
    wait_for(request("PUT", f"/aliases/{kind.name}-alias", {"indexUid": f"{kind.name}-clone"}))
    kind.is_refused("an alias is moved", "--again", index=f"{kind.name}-alias", slot=f"lamina_{kind.name}")
    kind.is_level("the index itself")
    # While the command follows.
    command = [options.binary, "sync", f"postgres://postgres@127.0.0.1:{PORT}/postgres{PARAMETERS}", "--table", f"{kind.name}.t", "--index", kind.name, "--url", URL]
    for what, change, ends in [("a default for all rows", lambda: kind.run("ALTER TABLE t ADD late text DEFAULT 'x'"), False),
                               ("the index is deleted", lambda: wait_for(request("DELETE", f"/indexes/{kind.name}")), False),
                               ("a document is added", lambda: wait_for(request("POST", f"/indexes/{kind.name}/documents", [{"id": 98}])), True)]:
        following = subprocess.Popen(command, stdout=sync_log, stderr=sync_log)
        kind.run("UPDATE t SET n = n + 100")
        until("it follows", lambda: kind.documents() == kind.rows())
        change()
        if ends:
            assert following.wait(60) != 0, what
        else:
            until(what, lambda: kind.documents() == kind.rows())
            assert following.poll() is None, what
            following.kill()
            following.wait()
    assert kind.sync("--again")[0] == 0
    # The database goes back in time: its folder is that of before, and its log becomes another one.
    postgres("pg_ctl", "-D", data, "-m", "fast", "-w", "stop", stdout=subprocess.DEVNULL)
    subprocess.run(["cp", "-a", data, data + ".before"], check=True)
    start_postgres()
    kind.run("UPDATE t SET n = -1; INSERT INTO t VALUES (40, 'lost', 1)")
    kind.is_level("changes that will be lost")
    postgres("pg_ctl", "-D", data, "-m", "fast", "-w", "stop", stdout=subprocess.DEVNULL)
    shutil.rmtree(data)
    os.rename(data + ".before", data)
    start_postgres()
    kind.run("CREATE TABLE filling AS SELECT repeat('x', 1000) FROM generate_series(1, 5000); INSERT INTO t VALUES (41, 'instead', 1)")
    kind.is_level("the database is restored", AGAIN)
    kind.drop()
    # No other index takes the slot of one.
    kind = Kind(plain)
    kind.is_level("a table")
    wait_for(request("POST", f"/indexes/{kind.name}-other/documents?primaryKey=id", [{"id": 1}]))
    kind.is_refused("an index of others", "--again", index=f"{kind.name}-other", slot=f"lamina_{kind.name}")
    assert [document["id"] for document in kind.documents(f"{kind.name}-other")] == [1], "nothing of it is lost"
    kind.drop()
    print(f"{Kind.count} tables: followed, loaded again or refused")


processes = []
sync_log = open(os.path.join(folder, "sync.log"), "ab")
try:
    postgres("initdb", "-D", data, "-A", "trust", "-U", "postgres", stdout=subprocess.DEVNULL)
    with open(os.path.join(data, "postgresql.conf"), "a") as file:
        file.write(certify() if options.tls else "")
        file.write(f"wal_level=logical\nport={PORT}\nlisten_addresses='127.0.0.1'\nunix_socket_directories='{data}'\n")
    start_postgres()
    psql("CREATE TABLE films (id bigint PRIMARY KEY, title text, year int, tags text[], extra jsonb, rating numeric, seen timestamp, note text);"
         "ALTER TABLE films ALTER note SET STORAGE EXTERNAL;"
         f"INSERT INTO films SELECT n, 'Film ' || n, 1900 + n % 120, ARRAY['a,b', 'c \"' || n], jsonb_build_object('n', n), n / 7.0, now()::timestamp, "
         f"CASE WHEN n % 100 = 0 THEN repeat('large value ', 300) END FROM generate_series(1, {options.rows}) n", check=True)
    lamina = start_lamina()
    until("the server answers", lambda: ask("/health"))

    if options.kinds:
        followed_or_refused()
        sys.exit(0)
    if options.tls:
        right, PARAMETERS = PARAMETERS, PARAMETERS.replace("ca.pem", "another.pem")
        assert start_sync().wait(60) != 0, "a certificate of another authority"
        PARAMETERS = right
    # Killed while it loads: the next one loads again.
    sync = start_sync()
    time.sleep(0.4)
    sync.send_signal(signal.SIGKILL)
    sync.wait()
    start = time.time()
    sync = start_sync()
    until("all rows are loaded", lambda: ask("/indexes/films/stats")["numberOfDocuments"] == options.rows)
    print(f"{options.rows} rows loaded in {time.time() - start:.1f} s")
    until("the slot is there", lambda: psql("SELECT 1 FROM pg_replication_slots WHERE slot_name = 'lamina_films'").stdout.strip() == "1")

    protected = psql("SELECT DISTINCT version FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'lamina sync'").stdout
    assert protected.strip() == ("TLSv1.3" if options.tls else ""), protected
    psql("INSERT INTO films (id, title) VALUES (0, 'soon')", check=True)
    start = time.time()
    until("a change is found", lambda: ask("/indexes/films/documents/fetch", {"ids": [0]})["results"])
    print(f"a change is found after {1000 * (time.time() - start):.0f} ms")

    kills = sorted(chance.uniform(0, options.seconds) for _ in range(options.kills))
    victims = [("sync", "lamina", "postgres")[place % 3] for place in range(options.kills)]
    begin = last = time.time()
    for _ in write_changes(options.seconds):
        # Who has just started has to reach the others first: an address that never answered is an error.
        if kills and time.time() - begin > kills[0] and time.time() - last > 1:
            kills.pop(0)
            victim = victims.pop(0)
            print(f"kill -9 of {victim} after {time.time() - begin:.1f} s", flush=True)
            if victim == "sync":
                sync.send_signal(signal.SIGKILL)
                sync.wait()
                sync = start_sync()
            elif victim == "lamina":
                lamina.send_signal(signal.SIGKILL)
                lamina.wait()
                lamina = start_lamina()
            else:
                os.kill(int(open(os.path.join(data, "postmaster.pid")).readline()), signal.SIGKILL)
                time.sleep(0.5)
                until("the database starts", lambda: not subprocess.run(
                    [*as_owner, os.path.join(programs[-1], "pg_ctl"), "-D", data, "-l", os.path.join(data, "log"), "-w", "start"],
                    cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode)
            assert sync.poll() is None, "the command goes on"
            last = time.time()
    start = time.time()
    want = rows()
    until("index and table are level", lambda: documents() == want)
    print(f"level {time.time() - start:.1f} s after the last change: {len(want)} rows")

    # Columns that come, and all rows that go.
    psql("ALTER TABLE films ADD country text; UPDATE films SET country = 'NZ' WHERE id < 100", check=True)
    until("a new column is found", lambda: {row: document for row, document in documents().items() if document.get("country")}
          == {row: document for row, document in rows().items() if document["country"]})
    psql("TRUNCATE films; INSERT INTO films (id, title) VALUES (7, 'left')", check=True)
    until("all rows are gone but one", lambda: documents() == rows())
    sync.send_signal(signal.SIGKILL)
    sync.wait()

    # Documents that are no row go when the table is loaded again; `--once` ends by itself; `--remove` leaves nothing.
    ask("/indexes/films/documents?wait=searchable", [{"id": 8, "title": "no row"}])
    assert start_sync("--again", "--once").wait(60) == 0 and documents() == rows()
    psql("INSERT INTO films (id, title) VALUES (9, 'once')", check=True)
    assert start_sync("--once").wait(60) == 0 and documents() == rows()
    assert start_sync("--remove").wait(60) == 0
    assert psql("SELECT slot_name FROM pg_replication_slots UNION SELECT pubname FROM pg_publication").stdout == ""

    # Several tables, one of them with a key of several columns, in another order than they have in the table.
    psql("CREATE TABLE offers (price int, shop text, number int, note text, PRIMARY KEY (number, shop)); ALTER TABLE offers ALTER note SET STORAGE EXTERNAL;"
         "INSERT INTO offers SELECT n, 'St. Pauli ' || n % 3, n, repeat('large value ', 300) FROM generate_series(1, 1000) n", check=True)
    both = ["--table", "offers", "--index", "offers", "--id-field", "key"]

    def offers():
        return {one["key"]: one for one in ask("/indexes/offers/documents/fetch", {"limit": 100_000})["results"]}

    def priced():
        lines = psql("SELECT row_to_json(o) FROM offers o", check=True).stdout.splitlines()
        escaped = lambda text: "".join(c if c.isascii() and c.isalnum() else "".join(f"_{b:02x}" for b in c.encode()) for c in text)
        keyed = ({"key": escaped(str(row["number"])) + "-" + escaped(row["shop"]), **row} for row in map(json.loads, lines))
        return {row["key"]: row for row in keyed}

    assert start_sync(*both, "--once").wait(60) == 0 and documents() == rows() and offers() == priced()
    sync = start_sync(*both)
    psql("UPDATE offers SET price = price + 1 WHERE number < 100; DELETE FROM offers WHERE number > 900; UPDATE offers SET shop = 'a-b_ä' WHERE number = 7;"
         "INSERT INTO offers VALUES (1, '', -5, NULL); INSERT INTO films (id, title) VALUES (10, 'two')", check=True)
    until("both tables are level", lambda: offers() == priced() and documents() == rows())
    assert start_sync("--table", "offers").wait(60) != 0, "a table without an index"
    sync.send_signal(signal.SIGKILL)
    sync.wait()
    assert start_sync(*both, "--remove").wait(60) == 0
    assert psql("SELECT slot_name FROM pg_replication_slots UNION SELECT pubname FROM pg_publication").stdout == ""
    followed_or_refused()
    print("sync: passed")
    lamina.terminate()
    lamina.wait()
finally:
    sync_log.flush()
    sys.stdout.write("".join(open(os.path.join(folder, "sync.log")).readlines()[-8:]))
    for one in [globals().get("sync"), globals().get("lamina")]:
        if one and one.poll() is None:
            one.kill()
            one.wait()
    subprocess.run([*as_owner, os.path.join(programs[-1], "pg_ctl"), "-D", data, "-m", "immediate", "stop"], cwd="/",
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shutil.rmtree(folder, ignore_errors=True)
