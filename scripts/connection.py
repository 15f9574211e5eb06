"""A connection to a server, for scripts that measure it."""
import re
import socket


class Connection:
    """HTTP/1.1 over one socket, as little of it as is needed: the client must not be what is measured."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def ask(self, method, path, body=b"", headers=""):
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self.socket.sendall(head.encode() + body)
        while b"\r\n\r\n" not in self.rest:
            self.read()
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        length = int(re.search(rb"content-length: (\d+)", head.lower()).group(1))
        while len(self.rest) < length:
            self.read()
        answer, self.rest = self.rest[:length], self.rest[length:]
        return int(head[9:12]), answer

    def read(self):
        piece = self.socket.recv(1 << 16)
        if not piece:
            raise ConnectionError("the server has closed the connection")
        self.rest += piece
