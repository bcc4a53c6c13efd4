import MixModel

/// Parses a relay's answers to preview requests. Pure.
struct PreviewAnswers {
    private let count: Int
    private var bytes: [UInt8] = []
    private var answers: [[UInt8]] = []

    init(count: Int) { self.count = count }

    /// Takes bytes as they arrive.
    ///
    /// - Returns: Whether all answers are complete.
    /// - Throws: `RelayError` when the relay's answer is not one to preview requests.
    mutating func take(_ arrived: some Collection<UInt8>) throws(RelayError) -> Bool {
        bytes.append(contentsOf: arrived)
        while answers.count < count, let length = PreviewWire.length(bytes) {
            guard length <= PreviewRequest.longest else {
                // An earlier release answers with a line of JSON, which would parse as an impossible length.
                throw .protocolViolation("it does not know previews: it is of an earlier release")
            }
            guard bytes.count - 4 >= length else { break }
            answers.append(Array(bytes[4..<4 + length]))
            bytes.removeFirst(4 + length)
        }
        return answers.count == count
    }

    /// - Throws: `RelayError` when the relay ended before all answers were complete.
    func all() throws(RelayError) -> [[UInt8]] {
        guard answers.count == count else { throw .protocolViolation("it ended before it had answered") }
        return answers
    }
}
