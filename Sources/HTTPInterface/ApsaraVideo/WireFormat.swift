import EventSubscription
import TextFormats

/// The format of a call's answer.
enum WireFormat: Hashable, Sendable {
    case json
    case xml

    /// The value of `Content-Type`. SDKs compare it byte by byte before they read an error.
    var contentType: String {
        switch self {
        case .json: "application/json;charset=utf-8"
        case .xml: "text/xml;charset=utf-8"
        }
    }

    /// - Parameter root: The name of the outermost element in XML. JSON does not use it.
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
    /// The format that `Format` names, otherwise the first one in `Accept`. JSON unless XML is requested.
    var format: WireFormat {
        if let named = parameters["Format"] {
            return named.utf8.count == 3 && named.lowercased() == "xml" ? .xml : .json
        }
        let accepted = headers["accept"]?.prefix { $0 != "," && $0 != ";" }.lowercased().trimmed
        return accepted == "application/xml" || accepted == "text/xml" ? .xml : .json
    }
}
