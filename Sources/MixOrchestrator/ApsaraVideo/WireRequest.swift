import HTTPTypes
import Hummingbird
import MixModel

/// A request of the ApsaraVideo Live interface as it came, before anything in it is believed.
struct WireRequest: Sendable {
    var method: String
    /// Of the query alone: what ACS3 signs beside the body.
    var query: WireParameters
    /// Query and form together.
    var parameters: WireParameters
    /// By lower-case name; of a repeated one the sorted values, joined with commas.
    var headers: [String: String]
    /// Empty while it is not read.
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

    /// The head alone: the body is still to come.
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

    /// Whether parameters are in the body, too.
    var isForm: Bool {
        headers["content-type"]?.prefix { $0 != ";" }.lowercased().trimmed == "application/x-www-form-urlencoded"
    }

    /// Whether headers are among what is signed, or parameters alone.
    var signsHeaders: Bool { headers["authorization"]?.isEmpty == false }

    /// What is called: named by parameter; by header, or by both alike, where headers are signed. A header that nobody
    /// signed names nothing, and must not contradict either.
    func name(_ header: String, _ parameter: String) throws(CallError) -> String? {
        let (first, second) = (headers[header].flatMap { $0.isEmpty ? nil : $0 }, parameters[parameter])
        if let first, let second, first != second {
            throw .invalid(parameter, second, "what the header \(header) says, \(first.prefix(bytes: 64))")
        }
        return signsHeaders ? first ?? second : second
    }
}
