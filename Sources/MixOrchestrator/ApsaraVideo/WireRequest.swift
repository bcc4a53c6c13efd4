import HTTPTypes
import Hummingbird

/// A request of the ApsaraVideo Live interface as it came, before anything in it is believed.
struct WireRequest: Sendable {
    var method: String
    /// Of the query alone: what ACS3 signs beside the body.
    var query: WireParameters
    /// Query and form together.
    var parameters: WireParameters
    /// By lower-case name; of a repeated one the sorted values, joined with commas.
    var headers: [String: String]
    var body: [UInt8]

    init(method: String, query: String, headers: [String: String], body: [UInt8] = []) throws(CallError) {
        self.method = method
        self.headers = headers
        self.body = body
        self.query = try WireParameters([Array(query.utf8)])
        let type = headers["content-type"]?.prefix { $0 != ";" }.lowercased()
        if !body.isEmpty, type?.trimmed == "application/x-www-form-urlencoded" {
            parameters = try WireParameters([Array(query.utf8), body])
        } else {
            parameters = self.query
        }
    }

    /// - Throws: `OrchestratorError` for a body that is too large, `CallError`.
    init(_ request: Request) async throws {
        var headers: [String: [String]] = [:]
        for field in request.headers { headers[field.name.canonicalName, default: []].append(field.value) }
        var joined = headers.mapValues { values in
            values.count == 1
                ? values[0].trimmed
                : values.map { $0.trimmed }.sorted().joined(separator: ",")
        }
        if let authority = request.head.authority { joined["host"] = authority }
        try self.init(
            method: request.method.rawValue, query: request.uri.query ?? "", headers: joined,
            body: try await request.bytes())
    }

    /// What is called: named by header, by parameter, or by both alike.
    func name(_ header: String, _ parameter: String) throws(CallError) -> String? {
        let (first, second) = (headers[header].flatMap { $0.isEmpty ? nil : $0 }, parameters[parameter])
        if let first, let second, first != second {
            throw .invalid(parameter, second, "what the header \(header) says, \(first.prefix(64))")
        }
        return first ?? second
    }
}
