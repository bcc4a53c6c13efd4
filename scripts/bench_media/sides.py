"""The sides of a comparison: one or two builds of the service, and ffmpeg."""
from .ffmpeg import Jobs, copy_arguments
from .service import Service


class Build:
    """A build of the service with some rooms. Relays and mixers, waiting ones too, are what it is charged for.

    The orchestrator is in the results as a group of its own: ffmpeg has no counterpart to it.
    """

    MEDIA = ("relay", "mixer", "other")

    def __init__(self, stage, name, binaries, canvas):
        self.stage, self.name, self.canvas, self.binaries = stage, name, canvas, binaries
        self.rooms, self.service = [], None

    def start(self, *settings):
        """Starts the service, with the options' settings and these, each a line of YAML."""
        more = "\n".join([*self.stage.options.setting, *settings])
        self.service = Service(self.stage, self.name, self.binaries, self.canvas, more)

    def program(self, room):
        return f"{self.name}-{room}"

    def open_room(self, room, host):
        self.rooms.append(room)
        self.service.open_room(room, host, self.stage.program(self.program(room)))

    def groups(self):
        return self.service.groups()

    def end(self):
        if self.service:
            self.service.end()
        self.rooms, self.service = [], None


class Copies(Jobs):
    """`ffmpeg -c copy`, one for each room."""

    def program(self, room):
        return f"{self.name}-{room}"

    def open_room(self, room, host):
        self.start(copy_arguments(
            self.stage.options, self.stage.live(host), self.stage.program(self.program(room))))


def builds(stage, canvas):
    """Returns the builds that the options name, ours first."""
    sides = [Build(stage, "ours", stage.options.binary, canvas)]
    if stage.options.against:
        sides.append(Build(stage, "against", stage.options.against, canvas))
    return sides
