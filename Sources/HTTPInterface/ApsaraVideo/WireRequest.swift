import HTTPTypes
import Hummingbird

/// A request of the ApsaraVideo Live interface as received, before it is authenticated.
struct WireRequest: Sendable {
    var method: String
    /// Parameters of the query alone. ACS3 signs these separately from the body.
    var query: WireParameters
    /// Parameters of query and form together.
    var parameters: WireParameters
    /// Headers by lower-case name. The values of a repeated header are sorted and joined with commas.
    var headers: [String: String]
    /// The body. Empty until it has been read.
    var body: [UInt8] = []

    init(method: String, query: String, headers: [String: String], body: [UInt8] = []) throws(CallError) {
        self.method = method
        self.headers = headers
        self.query = try WireParameters([Array(query.utf8)])
        parameters = self.query
        try take(body)
    }

    /// Adds the body, and the parameters in it if it is a form.
    mutating func take(_ body: [UInt8]) throws(CallError) {
        self.body = body
        if !body.isEmpty, isForm { try parameters.add(body) }
    }

    /// Creates a request from the head alone, before its body has been read.
    init(headOf request: Request) throws(CallError) {
        var headers: [String: [String]] = [:]
        for field in request.headers { headers[field.name.canonicalName, default: []].append(field.value) }
        var joined = headers.mapValues { values in
            values.count == 1
                ? values[0].trimmed
                : values.map { $0.trimmed }.sorted().joined(separator: ",")
        }
        if let authority = request.head.authority { joined["host"] = authority }
        try self.init(method: request.method.rawValue, query: request.uri.query ?? "", headers: joined)
    }

    /// Whether the body contains parameters.
    var isForm: Bool {
        headers["content-type"]?.prefix { $0 != ";" }.lowercased().trimmed == "application/x-www-form-urlencoded"
    }

    /// Whether the signature covers headers. If not, it covers parameters alone.
    var signsHeaders: Bool { headers["authorization"]?.isEmpty == false }

    /// Returns the action or version that the request names, if any.
    ///
    /// If headers are signed, the header may name it, the parameter, or both with the same value. Otherwise only the
    /// parameter counts, and an unsigned header must not contradict it.
    func name(_ header: String, _ parameter: String) throws(CallError) -> String? {
        let (first, second) = (headers[header].flatMap { $0.isEmpty ? nil : $0 }, parameters[parameter])
        if let first, let second, first != second {
            throw .invalid(parameter, second, "the value of the header \(header), \(first.prefix(bytes: 64))")
        }
        return signsHeaders ? first ?? second : second
    }
}
