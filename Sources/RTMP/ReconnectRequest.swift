import MediaFormats

/// The request of a server that its client reconnects, to the same server or to another one (Enhanced RTMP v2,
/// "Reconnect Request"). The client continues on the present connection until it has another one.
package struct ReconnectRequest: Hashable, Sendable {
    /// The URL to which the client should connect.
    package enum Target: Hashable, Sendable {
        /// The URL of the present connection.
        case same
        /// A URI reference, which is relative to the URL of the present connection. Untrusted.
        case reference(String)
        /// A value that is not a URI reference. The text says what is wrong with it.
        case invalid(String)
    }

    /// Code of the status.
    static let code = "NetConnection.Connect.ReconnectRequest"
    /// Property of `connect`, and of its answer, whose bits name capabilities: `CapsExMask`.
    static let capabilities = "capsEx"
    /// The bit of a client that follows requests, and of a server that sends them.
    static let capability: UInt32 = 0x01
    /// Property of the status with the URI reference.
    static let reference = "tcUrl"

    package var target: Target
    /// The server's explanation in one line of at most 200 characters; `nil` if there is none. Untrusted.
    package var words: String?

    package init(target: Target = .same, words: String? = nil) {
        self.target = target
        self.words = words
    }

    /// Reads the information object of a status. Returns `nil` if it is not such a request.
    init?(_ information: AMF0) {
        guard information["code"]?.text == Self.code, information["level"]?.text ?? "status" == "status" else {
            return nil
        }
        target =
            switch information[Self.reference] {
            case nil, .null?: .same
            case .string(let text)? where text.utf8.count > RTMPAddress.longest:
                .invalid("its tcUrl is longer than \(RTMPAddress.longest) bytes")
            case .string(let text)?: text.isEmpty ? .same : .reference(text)
            default: .invalid("its tcUrl is not a string")
            }
        let line = (information["description"]?.text ?? "").inOneLine
        words = line.isEmpty ? nil : line
    }

    /// Returns whether a client or a server has announced the capability.
    ///
    /// - Parameter value: Value of `capabilities`.
    static func isAnnounced(by value: AMF0?) -> Bool {
        guard case .number(let number)? = value, let bits = UInt32(exactly: number) else { return false }
        return bits & capability != 0
    }
}

extension String {
    /// The text of a server for operators: one line of at most 200 characters without control characters.
    var inOneLine: String {
        String(unicodeScalars.filter { $0.properties.generalCategory != .control }.prefix(200))
    }
}
