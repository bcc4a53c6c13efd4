import EventSubscription

/// How a call wants its answer written.
enum WireFormat: Hashable, Sendable {
    case json
    case xml

    /// SDKs compare it byte by byte before they read an error.
    var contentType: String {
        switch self {
        case .json: "application/json;charset=utf-8"
        case .xml: "text/xml;charset=utf-8"
        }
    }

    /// - Parameter root: The name of the outermost element, which JSON does not have.
    func bytes(of fields: [String: JSONValue], root: String) -> [UInt8] {
        switch self {
        case .json:
            var bytes: [UInt8] = []
            JSONText.append(.object(fields), to: &bytes)
            return bytes
        case .xml: return XMLText.of(fields, root: root)
        }
    }
}

extension WireRequest {
    /// What `Format` says; without it what `Accept` asks for first. JSON where neither names XML.
    var format: WireFormat {
        if let named = parameters["Format"] {
            return named.utf8.count == 3 && named.lowercased() == "xml" ? .xml : .json
        }
        let accepted = headers["accept"]?.prefix { $0 != "," && $0 != ";" }.lowercased().trimmed
        return accepted == "application/xml" || accepted == "text/xml" ? .xml : .json
    }
}
