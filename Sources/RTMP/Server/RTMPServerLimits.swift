/// Limits on the data that a client may send to a server, and on the time it may take. Times are in ns, sizes in bytes.
package struct RTMPServerLimits: Hashable, Sendable {
    /// Time from the connection's beginning to the end of the handshake.
    package var handshake: Int64 = 5_000_000_000
    /// Time from the connection's beginning to the request to publish or to play.
    package var request: Int64 = 15_000_000_000
    /// Time without audio, video and the notice of a pause (`FLVMetadata.isPaused`) after which a publisher counts as lost.
    package var silence: Int64 = 15_000_000_000

    /// Largest message before a publisher is accepted.
    package var commandBytes = 1 << 16
    /// Largest message of an accepted publisher: a keyframe.
    package var messageBytes = 8 << 20
    /// Largest chunk size that a client may announce.
    package var chunkSize = 10 << 20
    /// Largest number of chunk streams of a connection.
    package var chunkStreams = 64
    /// Largest number of message streams that a connection may create.
    package var streams = 8
    /// Maximum number of commands and control messages in `commandWindow`.
    package var commands = 200
    package var commandWindow: Int64 = 10_000_000_000
    /// Largest `onMetaData`. A larger one is dropped.
    package var metadataBytes = 1 << 14
    /// Largest `onMetaData` that is searched for the notice of a pause, which is much smaller.
    package var noticeBytes = 1 << 10
    /// Shortest time between two forwarded `onMetaData`, except at the beginning and at the end of a pause.
    package var metadataInterval: Int64 = 1_000_000_000
    /// Maximum number of forwarded beginnings and ends of pauses that follow one another within `metadataInterval`.
    package var earlyMetadata = 4
    /// Largest lengths of the parts of a stream's name. The application of a relay's URL has the names of an app, a room and a
    /// participant, of which each may have 128 bytes and each byte may be percent-encoded.
    package var applicationBytes = 1280
    package var nameBytes = 512
    package var queryBytes = 2048

    package init() {}

    /// Limits of chunks before a publisher is accepted, with room for one other unfinished command. Keyframes of a publisher
    /// that does not wait for the answer are left out.
    var ofCommands: RTMPChunkReader.Limits {
        .init(
            chunkStreams: chunkStreams, unfinishedBytes: 2 * commandBytes, messageBytes: commandBytes,
            chunkSize: chunkSize, leavesOutLongMedia: true)
    }

    /// Limits of an accepted publisher's chunks: a keyframe, and audio between its chunks.
    var ofMedia: RTMPChunkReader.Limits {
        .init(
            chunkStreams: chunkStreams, unfinishedBytes: messageBytes + 2 * commandBytes, messageBytes: messageBytes,
            chunkSize: chunkSize)
    }
}
