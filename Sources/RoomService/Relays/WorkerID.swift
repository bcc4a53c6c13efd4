/// Identifiers of workers and of their sessions: random hexadecimal digits, which cannot be guessed.
enum WorkerID {
    private static let digits = 32

    /// Returns an identifier of 128 random bits.
    static func make() -> String {
        var random = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(random.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }.joined()
    }

    static func isValid(_ text: String) -> Bool { text.utf8.count == digits && hasOnlyDigits(text) }

    static func hasOnlyDigits(_ text: String) -> Bool {
        text.utf8.allSatisfy {
            UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
        }
    }
}
