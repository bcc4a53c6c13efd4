import EventSubscription
import Hummingbird
import TextFormats

/// The requested part of a list: at most `limit` entries after `after`.
struct RequestPage: Hashable, Sendable {
    var limit: Int
    /// The value of `next` in the preceding answer.
    var after: String?

    static let standardLimit = 100
    static let mostEntries = 1000
}

extension Request {
    func page(standardLimit: Int = RequestPage.standardLimit) throws(InputError) -> RequestPage {
        let limit = try queryInteger("limit", in: 1...RequestPage.mostEntries) ?? standardLimit
        return RequestPage(limit: limit, after: try queryText("after"))
    }

    /// Returns a parameter of the query as received, or `nil` if it is omitted.
    ///
    /// - Throws: `InputError` if the parameter occurs more than once.
    func queryText(_ name: String) throws(InputError) -> String? {
        let values = uri.queryParameters.getAll(name)
        guard values.count <= 1 else {
            throw InputError(.invalidField, field: name, expected: "the parameter once, not \(values.count) times")
        }
        guard let value = values.first else { return nil }
        let text = String(value)
        guard !text.hasTooManyMarks else {
            throw InputError(
                .invalidField, field: name, expected: "at most \(String.mostMarksInARow) combining marks in a row")
        }
        return text
    }

    func queryInteger(_ name: String, in range: ClosedRange<Int>) throws(InputError) -> Int? {
        guard let text = try queryText(name) else { return nil }
        // `Int` also accepts `+5`.
        guard let number = Int(text), range.contains(number), text.utf8.first != UInt8(ascii: "+") else {
            throw InputError(
                .invalidField, field: name, found: JSONValue.string(text).summary,
                expected: "a whole number, \(range.lowerBound)…\(range.upperBound)")
        }
        return number
    }

    /// Returns a parameter whose values are the raw values of an enumeration.
    func queryChoice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, of type: Choice.Type
    ) throws(InputError) -> Choice? where Choice.RawValue == String {
        guard let text = try queryText(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw InputError(
                .invalidField, field: name, found: JSONValue.string(text).summary,
                expected: "one of " + Choice.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return choice
    }
}
