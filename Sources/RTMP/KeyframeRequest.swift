import MediaFormats

/// The request of a player for a keyframe, which the server passes on to the publisher. The command is not part of
/// RTMP: a client sends it only to a server that has announced support, and a server only to a publisher that has.
package enum KeyframeRequest {
    /// The tag, in front of all others, with which a relay announces that it accepts requests of the viewer on the same
    /// connection.
    package static let announcement: FLVTag = {
        var body: [UInt8] = []
        AMF0.string(property).encode(into: &body)
        AMF0.boolean(true).encode(into: &body)
        return FLVTag(role: .metadata, timestamp: 0, body: body)
    }()

    /// Command of a player to its server, and of a server to a publisher: a name, 0, and null.
    static let command = "requestKeyframe"
    /// Property with the value true by which both announce that they accept the command: a server in the information of
    /// `NetStream.Play.Start`, a publisher in the object of `connect`.
    static let property = "keyframeRequests"
}
