"""What schemathesis has to know of the bodies of WHIP: session descriptions and their fragments are text."""
import schemathesis

schemathesis.serializer.alias(["application/sdp", "application/trickle-ice-sdpfrag"], "text/plain")
