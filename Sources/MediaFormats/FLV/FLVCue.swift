import EncodedMedia

/// A script tag that carries a timed text about a program, for consumers that are fed by a relay itself, and for players
/// of the service's own feed.
public struct FLVCue: Hashable, Sendable {
    public var name: String
    public var text: String

    /// Name of the cues that tell players who is where in the picture. Their text is the JSON of a layout.
    package static let layout = "onLayout"

    /// Returns whether the body of a script tag is a layout's. Reads its name only.
    package static func isLayout(_ body: some Sequence<UInt8>) -> Bool { body.starts(with: layoutPrefix) }

    /// The bytes with which the body of a layout's tag begins.
    private static let layoutPrefix: [UInt8] = [2, 0, UInt8(layout.utf8.count)] + Array(layout.utf8)

    public init(name: String, text: String) {
        self.name = name
        self.text = text
    }

    /// Returns the script tag: a name and a long string in AMF0 (AMF 0 specification §2.4, §2.14).
    public func tag(at timestamp: UInt32) -> FLVTag {
        var body: [UInt8] = [2]
        body.appendBigEndian(name.utf8.count, bytes: 2)
        body += Array(name.utf8) + [12]
        body.appendBigEndian(text.utf8.count, bytes: 4)
        return FLVTag(role: .metadata, timestamp: timestamp, body: body + Array(text.utf8))
    }

    /// Creates a cue from the body of a script tag; `nil` if the body contains anything else.
    public init?(body: [UInt8]) {
        guard body.first == 2, let nameLength = body.bigEndian(Int.self, at: 1, bytes: 2) else { return nil }
        let start = 3 + nameLength
        guard let textLength = body.bigEndian(Int.self, at: start + 1, bytes: 4), body[start] == 12 else { return nil }
        let end = start + 5 + textLength
        guard body.count >= end else { return nil }
        name = String(decoding: body[3..<start], as: UTF8.self)
        text = String(decoding: body[start + 5..<end], as: UTF8.self)
    }
}
