#!/usr/bin/env python3
"""`lamina sync` with a real PostgreSQL: a table is loaded, changed all the while, and database, server and command are killed
with -9 again and again. In the end the index must hold exactly the rows of the table.
With --tls the database takes encrypted connections only, and the command verifies its certificate (openssl makes it).
usage: scripts/test-sync.py [--tls] [--binary FILE] [--rows 100000] [--rate 1000] [--seconds 30] [--kills 9]
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
    command = [options.binary, "--db-path", os.path.join(folder, "db"), "--http-addr", f"127.0.0.1:{LAMINA_PORT}"]
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
    begin = time.time()
    for _ in write_changes(options.seconds):
        if kills and time.time() - begin > kills[0]:
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
