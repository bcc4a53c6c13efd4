import EventSubscription
import Hummingbird

/// What part of a list is asked for: at most `limit` of what comes behind `after`.
struct RequestPage: Hashable, Sendable {
    var limit: Int
    /// The `next` of the answer before.
    var after: String?

    static let standardLimit = 100
    static let mostEntries = 1000
}

extension Request {
    func page(standardLimit: Int = RequestPage.standardLimit) throws(InputError) -> RequestPage {
        let limit = try queryInteger("limit", in: 1...RequestPage.mostEntries) ?? standardLimit
        return RequestPage(limit: limit, after: queryText("after"))
    }

    /// A parameter of the query; an empty one is none.
    func queryText(_ name: String) -> String? {
        uri.queryParameters[name[...]].flatMap { $0.isEmpty ? nil : String($0) }
    }

    func queryInteger(_ name: String, in range: ClosedRange<Int>) throws(InputError) -> Int? {
        guard let text = queryText(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw InputError(
                .invalidField, field: name, found: JSONValue.string(text).summary,
                expected: "a whole number, \(range.lowerBound)…\(range.upperBound)")
        }
        return number
    }

    /// One of the raw values of an enumeration.
    func queryChoice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, of type: Choice.Type
    ) throws(InputError) -> Choice? where Choice.RawValue == String {
        guard let text = queryText(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw InputError(
                .invalidField, field: name, found: JSONValue.string(text).summary,
                expected: "one of " + Choice.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return choice
    }
}
