import Foundation

/// The parts of a URL for a worker's pull.
package struct PullAddress: Hashable, Sendable {
    /// Scheme in lower case.
    package var scheme: String
    /// Name or address; IPv6 addresses without brackets.
    package var host: String
    /// Port; `nil` if the URL names none.
    package var port: UInt16?
    /// Path with its leading `/`, decoded; empty if there is none.
    package var path: String
    /// Parameters of the query in order, decoded.
    package var parameters: [(name: String, value: String)]
    /// User and password before the host, decoded; `nil` if there are none.
    package var credentials: (user: String, password: String)?
    /// URL as it was given.
    package var text: String

    /// - Throws: `PullEnd` of kind `.badURL`, whose description contains no part of the URL.
    package init(_ text: String) throws(PullEnd) {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
            let host = parts.host, !host.isEmpty
        else { throw PullEnd(.badURL, "the URL has no host: expected scheme://host[:port]") }
        guard parts.port.map({ 1...65_535 ~= $0 }) ?? true else {
            throw PullEnd(.badURL, "the URL's port is not one of 1…65535")
        }
        self.scheme = scheme
        self.host = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        port = parts.port.flatMap { UInt16(exactly: $0) }
        path = parts.path
        parameters = (parts.queryItems ?? []).map { ($0.name, $0.value ?? "") }
        credentials = parts.user.map { ($0, parts.password ?? "") }
        self.text = text
    }

    /// Host in the notation of a URL.
    package var spelledHost: String { host.contains(":") ? "[\(host)]" : host }

    /// Whether the host means this machine by name.
    var isLocalhost: Bool { host.lowercased() == "localhost" }

    /// Whether the host is itself an address, IPv4 or IPv6.
    var isLiteral: Bool {
        var four = in_addr()
        var six = in6_addr()
        return inet_pton(AF_INET, host, &four) == 1 || inet_pton(AF_INET6, host, &six) == 1
    }

    /// Whether the host stands for every address of the machine.
    var isEveryAddress: Bool { ["0.0.0.0", "::"].contains(host) }

    /// Returns the value of each of `names` in the query.
    ///
    /// - Throws: `PullEnd` of kind `.badURL` for a parameter with another name, or one that occurs twice.
    func options(_ names: [String]) throws(PullEnd) -> [String: String] {
        var found: [String: String] = [:]
        for (name, value) in parameters {
            guard names.contains(name) else {
                let known = names.isEmpty ? "none" : names.joined(separator: ", ")
                throw PullEnd(.badURL, "the URL has a parameter that \(scheme):// does not know: it knows \(known)")
            }
            guard found.updateValue(value, forKey: name) == nil else {
                throw PullEnd(.badURL, "the URL has the parameter \(name) twice")
            }
        }
        return found
    }

    package static func == (one: PullAddress, other: PullAddress) -> Bool { one.text == other.text }
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension PullAddress {
    /// URL without user and password.
    var withoutCredentials: String {
        guard let (start, user, _) = authority else { return text }
        return String(text[..<start] + text[user.endIndex...])
    }

    /// The part between `://` and the path: its start, the user information with its `@`, and its end.
    private var authority: (start: String.Index, user: Substring, end: String.Index)? {
        guard let start = text.firstRange(of: "://")?.upperBound else { return nil }
        let authority = text[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let behind = authority.lastIndex(of: "@").map { text.index(after: $0) } ?? start
        return (start, text[start..<behind], authority.endIndex)
    }

    /// Replaces the host by an address, in the text, too.
    mutating func put(_ found: String) {
        guard let (_, user, end) = authority else { return }
        host = found
        let tail = text[end...]
        text = "\(scheme)://\(user)\(spelledHost)\(port.map { ":\($0)" } ?? "")\(tail)"
    }
}

extension [String: String] {
    /// Returns the whole number of a parameter.
    ///
    /// - Throws: `PullEnd` of kind `.badURL` if it is not a number or out of range.
    func number(_ name: String, in range: ClosedRange<Int>, else standard: Int) throws(PullEnd) -> Int {
        guard let text = self[name] else { return standard }
        guard let number = Int(text), range ~= number else {
            throw PullEnd(.badURL, "\(name) in the URL must be \(range.lowerBound)…\(range.upperBound)")
        }
        return number
    }
}
