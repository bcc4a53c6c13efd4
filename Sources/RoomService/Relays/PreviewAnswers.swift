import MixModel

/// Cuts the bytes that a relay answers to requests for previews. Pure.
struct PreviewAnswers {
    private let count: Int
    private var bytes: [UInt8] = []
    private var answers: [[UInt8]] = []

    init(count: Int) { self.count = count }

    /// Takes bytes as they come.
    ///
    /// - Returns: Whether all answers are there.
    /// - Throws: `RelayError` when the relay answers something else.
    mutating func take(_ arrived: some Collection<UInt8>) throws(RelayError) -> Bool {
        bytes.append(contentsOf: arrived)
        while answers.count < count, let length = PreviewWire.length(bytes) {
            guard length <= PreviewRequest.longest else {
                // An earlier release answers a line of JSON, which would be a length beyond all bounds.
                throw .protocolViolation("it does not know previews: it is of an earlier release")
            }
            guard bytes.count - 4 >= length else { break }
            answers.append(Array(bytes[4..<4 + length]))
            bytes.removeFirst(4 + length)
        }
        return answers.count == count
    }

    /// - Throws: `RelayError` when the relay has ended before it had answered.
    func all() throws(RelayError) -> [[UInt8]] {
        guard answers.count == count else { throw .protocolViolation("it ended before it had answered") }
        return answers
    }
}
