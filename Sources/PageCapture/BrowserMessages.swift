/// Splits a browser's output on its debugging pipe into messages, which end with a zero byte. Pure.
///
/// A message that is too long is dropped: except for pictures, no expected message is long, and a page can cause
/// messages of any length.
struct BrowserMessages: Sendable {
    /// Longest message in bytes, without pictures and with them.
    static let longest = 1 << 20
    static let longestWithPictures = 24 << 20

    private let longest: Int

    private var bytes: [UInt8] = []
    private var isSkipping = false
    /// Number of messages that were dropped.
    private(set) var skipped = 0

    init(longest: Int = Self.longest) { self.longest = longest }

    /// Number of buffered bytes of an incomplete message.
    var waiting: Int { bytes.count }

    /// Adds bytes and returns the messages that they complete.
    mutating func take(_ chunk: some Collection<UInt8>) -> [[UInt8]] {
        var messages: [[UInt8]] = []
        var rest = chunk[...]
        while let end = rest.firstIndex(of: 0) {
            add(rest[..<end])
            if !isSkipping { messages.append(bytes) }
            isSkipping = false
            bytes = []
            rest = rest[rest.index(after: end)...]
        }
        add(rest)
        return messages
    }

    private mutating func add(_ part: some Collection<UInt8>) {
        guard !isSkipping else { return }
        guard bytes.count + part.count <= longest else {
            isSkipping = true
            skipped += 1
            bytes = []
            return
        }
        bytes += part
    }
}
