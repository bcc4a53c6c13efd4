"""A host and a viewer of a live room, with an unchanged Python client of Socket.IO; see scripts/socketio-client.sh."""

import importlib
import queue
import sys
import uuid

# In seconds.
PATIENCE = 60


class Client:
    """A connected client, with what it was sent."""

    def __init__(self, library, url, transports):
        self.events = queue.Queue()
        self.acks = queue.Queue()
        self.socket = library.Client(reconnection=False, request_timeout=PATIENCE)
        for name in ["comment", "upvote", "gift", "viewers", "ended", "room_closed", "refused"]:
            self.socket.on(name, self.keep(name))
        # The old client is connected with its handshake; the new one is told so, and waits a second for it by default.
        patience = {"wait_timeout": PATIENCE} if library.__name__ == "socketio" else {}
        self.socket.connect(url, transports=transports, **patience)

    def keep(self, name):
        return lambda *arguments: self.events.put((name, arguments))

    def call(self, event, argument):
        """Sends an event and returns its acknowledgement."""
        self.socket.emit(event, argument, callback=lambda *arguments: self.acks.put(arguments))
        arguments = self.acks.get(timeout=PATIENCE)
        return arguments[0] if arguments else None

    def next(self, name):
        """Returns the argument of the next event of a name."""
        while True:
            found, arguments = self.events.get(timeout=PATIENCE)
            if found == name:
                return arguments[0]


def check(condition, what):
    if not condition:
        sys.exit(f"socketio-client: {what}")


def visit(library, url, transports, text):
    room = f"room-{uuid.uuid4().hex[:8]}"
    host, viewer = Client(library, url, transports), Client(library, url, transports)
    answer = host.call("create_room", {"title": "My show", "key": room})
    check(answer["ok"], f"create_room: {answer}")
    answer = viewer.call("join_room", room)
    check(answer["ok"] and answer["isLive"], f"join_room: {answer}")
    wanted = transports[-1] if transports else "websocket"
    check(host.socket.transport() == wanted, f"the transport is {host.socket.transport()}, not {wanted}")
    answer = viewer.call("comment", {"roomKey": room, "text": text})
    check(answer["ok"], f"comment: {answer}")
    for client in [host, viewer]:
        check(client.next("comment")["text"] == text, "comment is another one")
    viewer.socket.emit("upvote", room)
    check(host.next("upvote")["count"] == 1, "upvote is another one")
    host.socket.emit("gift", {"roomKey": room, "senderId": 7, "giftId": 2, "giftCount": 3})
    check(viewer.next("gift")["giftId"] == 2, "gift is another one")
    # Nothing is done with bytes, but they are acknowledged like all that the app does not know.
    check(viewer.call("bytes", b"\x00\x01\xff" * 1000) is None, "bytes are answered with something")
    answer = viewer.call("close_room", room)
    check(not answer["ok"], "a viewer closed the room")
    viewer.socket.emit("upvote", "elsewhere")
    check(viewer.next("refused")["code"] == "room-not-joined", "refused says something else")
    host.socket.disconnect()
    check(viewer.next("ended")["roomKey"] == room, "ended is another one")
    check(viewer.next("room_closed")["roomKey"] == room, "room_closed is another one")
    viewer.socket.disconnect()
    print(f"socketio-client: {'+'.join(transports or ['upgrade'])}: well")


def main():
    version, url = sys.argv[1:]
    library = importlib.import_module({"4": "socketio", "3": "socketio_v4"}[version])
    # The old client counts characters in payloads of several packets, where the protocol counts UTF-16 units.
    text = "héllo 😀"
    for transports in [["polling"], ["websocket"], None]:
        visit(library, url, transports, text)
    print("socketio-client: all well")


main()
