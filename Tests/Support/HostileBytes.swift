/// Hostile input for parsers that must accept any bytes.
public enum HostileBytes {
    /// Returns random bytes, or valid ones that were changed, cut or extended.
    public static func any(_ valid: [[UInt8]], using random: inout SeededGenerator) -> [UInt8] {
        guard Int.random(in: 0..<8, using: &random) > 0, var bytes = valid.randomElement(using: &random) else {
            return (0..<Int.random(in: 0...60, using: &random)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        }
        for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
            let index = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0: bytes = Array(bytes.prefix(index))
            case 1: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
            case 2: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 3: bytes.replaceSubrange(index..<min(index + 4, bytes.count), with: [0xFF, 0xFF, 0xFF, 0xFF])
            case 4: bytes.replaceSubrange(index..<min(index + 8, bytes.count), with: [0x80, 0, 0, 0, 0, 0, 0, 0])
            case 5: bytes += bytes[index...]
            default: bytes[index] = UInt8(truncatingIfNeeded: random.next())
            }
        }
        return bytes
    }

    /// Returns the JSON with one of its numbers replaced by an extreme one, or unchanged if it has none.
    public static func numbers(of json: String, using random: inout SeededGenerator) -> String {
        let numbers = json.matches(of: /-?[0-9][0-9.eE+\-]*/)
        guard let number = numbers.randomElement(using: &random) else { return json }
        let others = [
            "-9223372036854775808", "9223372036854775807", "-1", "0", "1e308", "-1e308", "1e-308", "2147483648",
            "18446744073709551615", "1e999",
        ]
        return json.replacingCharacters(number.range, with: others.randomElement(using: &random) ?? "0")
    }
}

extension String {
    fileprivate func replacingCharacters(_ range: Range<Index>, with text: String) -> String {
        var result = self
        result.replaceSubrange(range, with: text)
        return result
    }
}
