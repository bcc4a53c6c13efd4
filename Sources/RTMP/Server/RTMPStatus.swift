import MediaFormats
import TextFormats

/// A status that a client gets about its connection or stream, with the codes of RTMP servers.
package struct RTMPStatus: Hashable, Sendable {
    package var code: String
    /// Description for the user of the client, without secrets: what happened, and the cure.
    package var words: String

    package init(_ code: String, _ words: String) {
        self.code = code
        self.words = words
    }

    /// The name is in use or not valid.
    package static func badName(_ words: String) -> RTMPStatus { .init("NetStream.Publish.BadName", words) }
    /// The client may not publish, or not in this way.
    package static func denied(_ words: String) -> RTMPStatus { .init("NetStream.Publish.Denied", words) }
    package static func notFound(_ words: String) -> RTMPStatus { .init("NetStream.Play.StreamNotFound", words) }
    package static func playFailed(_ words: String) -> RTMPStatus { .init("NetStream.Play.Failed", words) }
    package static let unpublished = RTMPStatus("NetStream.Play.UnpublishNotify", "the publisher has left")

    /// Largest number of bytes of `words` to send.
    static let longest = 512

    /// The information object of `onStatus`.
    func information(isError: Bool, and properties: [AMF0.Property] = []) -> AMF0 {
        .object(
            [
                .init(name: "level", value: .string(isError ? "error" : "status")),
                .init(name: "code", value: .string(code)),
                .init(name: "description", value: .string(words.shortened(toBytes: Self.longest))),
            ] + properties)
    }
}
