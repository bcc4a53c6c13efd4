/// The answer to a media server.
package struct HookAnswer: Hashable, Sendable {
    /// HTTP status code.
    package var status: Int
    /// Media type of the body; `nil` without a body.
    package var contentType: String?
    package var body: [UInt8]

    package init(status: Int, contentType: String?, body: [UInt8]) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    /// Creates a plain-text answer.
    package init(status: Int, text: String) {
        self.init(status: status, contentType: "text/plain; charset=utf-8", body: Array("\(text)\n".utf8))
    }

    /// Creates a JSON answer.
    package init(status: Int = 200, json: String) {
        self.init(status: status, contentType: "application/json", body: Array(json.utf8))
    }

    /// Returns the text as a JSON string.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\u{0}"..."\u{1F}":
                quoted += "\\u00\(scalar.value < 16 ? "0" : "")\(String(scalar.value, radix: 16))"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    package static let noContent = HookAnswer(status: 204, contentType: nil, body: [])
}

/// The service's decision about a call.
package enum HookVerdict: Hashable, Sendable {
    /// The call was accepted, or does not concern any room. A publisher may continue.
    case accepted
    /// The publisher must not be served. The reason contains no secret.
    case refused(String)
    /// The service itself could not process the call. The reason contains no secret.
    case failed(String)
}
