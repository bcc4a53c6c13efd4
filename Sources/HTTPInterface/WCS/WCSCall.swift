import EncodedMedia
import EventSubscription
import Hummingbird
import MixModel
import RoomService

/// One REST call of Web Call Server's interface. Its fields are read leniently: flags and numbers may be texts.
struct WCSCall: Sendable {
    let caller: Caller
    let fields: [String: JSONValue]
    let receivedAt: Int64

    var app: AppID { caller.app }

    init(_ request: Request, _ context: OrchestratorContext) async throws {
        receivedAt = MonotonicClock.now()
        caller = context.caller
        let bytes = request.method == .post ? try await request.bytes() : []
        guard !bytes.isEmpty else {
            fields = [:]
            return
        }
        guard case .object(let fields) = try JSONValue(parsing: bytes) else {
            throw InputError(.invalidField, field: "", expected: "a JSON object")
        }
        self.fields = fields
    }

    func required(_ key: String, _ expected: String) throws(InputError) -> String {
        guard let text = fields.text(key, atMost: 2048), !text.isEmpty else {
            throw InputError(
                fields[key] == nil ? .missingField : .invalidField, field: key, found: fields[key]?.summary,
                expected: expected)
        }
        return text
    }

    func integer(_ key: String, in range: ClosedRange<Int>) throws(InputError) -> Int? {
        let value: Int? =
            switch fields[key] {
            case nil, .null?: nil
            case .number(let number)?: Int(exactly: number) ?? -1
            case .string(let text)?: Int(text) ?? -1
            default: -1
            }
        guard let value else { return nil }
        guard range.contains(value) else {
            throw InputError(
                .invalidField, field: key, found: fields[key]?.summary,
                expected: "a whole number, \(range.lowerBound)…\(range.upperBound)")
        }
        return value
    }

    /// Returns the name in a URI with a scheme of WCS, such as `mixer://lobby`.
    func name(inURI key: String, scheme: String) throws(InputError) -> String {
        let text = try required(key, "\(scheme)://name")
        let prefix = scheme + "://"
        guard text.startsInUTF8(with: prefix) else {
            throw InputError(
                .invalidField, field: key, found: JSONValue.string(text).summary, expected: "\(scheme)://name")
        }
        return try EventParser.identifier(String(text.dropFirst(prefix.count)), field: key)
    }
}
