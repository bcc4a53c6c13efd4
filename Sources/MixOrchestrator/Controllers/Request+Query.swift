import EventSubscription
import Hummingbird

extension Request {
    /// A query parameter; `nil` when it is left out.
    ///
    /// - Throws: `InputError` when it is there more than once.
    func query(_ name: String) throws(InputError) -> String? {
        let values = uri.queryParameters.getAll(name)
        guard values.count <= 1 else {
            throw InputError(.invalidField, field: name, expected: "the parameter once, not \(values.count) times")
        }
        return values.first
    }

    /// A whole number in the query; `nil` when it is left out.
    func query(_ name: String, in range: ClosedRange<Int>) throws(InputError) -> Int? {
        guard let text = try query(name) else { return nil }
        // `Int` reads `+5` too.
        guard let number = Int(text), range.contains(number), text.utf8.first != UInt8(ascii: "+") else {
            throw InputError(
                .invalidField, field: name, found: JSONValue.string(text).summary,
                expected: "a whole number, \(range.lowerBound)…\(range.upperBound)")
        }
        return number
    }
}
