"""Plays a stream and tells what came of its pictures, see scripts/play.sh.

Out: {"codec", "profile", "width", "height", "pictures": how many were decoded, "errors": how many could not be, though
      one before them could, "gapMs": the largest distance of two pictures, "messages": the texts of user data (SEI) that
      came with pictures}
"""

import json
import sys

import av


def text(message):
    """What stands behind the UUID of user_data_unregistered."""
    return bytes(message)[16:].decode("utf-8", "replace")


def packets(stream):
    """Those of pictures, and None for each that cannot be read: players go on, too."""
    for _ in range(100):
        try:
            # A server may keep the header of another codec that went before: that stream has no packets.
            yield from stream.demux(stream.streams.video)
            return
        except av.error.InvalidDataError:
            yield None


def decoded(packet):
    """Pictures, or None where there could be none."""
    try:
        return packet and packet.decode()
    except av.error.InvalidDataError:
        return None


def play(url, seconds):
    codec, errors, times, messages = None, 0, [], set()
    with av.open(url, timeout=(15, 15)) as stream:
        for packet in packets(stream):
            frames = decoded(packet)
            if frames is None and times:
                errors += 1
            for frame in frames or []:
                codec = packet.stream.codec_context
                times.append(frame.time)
                messages.update(text(data) for data in frame.side_data if data.type.name == "SEI_UNREGISTERED")
            if times and times[-1] - times[0] >= seconds:
                break
        gaps = [b - a for a, b in zip(times, times[1:])]
        return {
            "codec": codec and codec.name,
            "profile": codec and codec.profile,
            "width": codec and codec.width,
            "height": codec and codec.height,
            "pictures": len(times),
            "errors": errors,
            "gapMs": round(max(gaps, default=0) * 1000),
            "messages": sorted(messages),
        }


print(json.dumps(play(sys.argv[1], float(sys.argv[2]))))
