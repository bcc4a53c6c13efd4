import HTTPTypes
import RoomService

/// Conditions in the headers of a request: `If-Match`, `If-None-Match` (RFC 9110 §13.1).
extension SettingsPrecondition {
    /// - Throws: `HTTPProblem` when `If-None-Match` is anything but `*`, or `If-Match` is neither `*` nor tags.
    init(_ headers: HTTPFields) throws(HTTPProblem) {
        let tags = try headers[.ifMatch].map { text throws(HTTPProblem) in try EntityTags.parse(text) }
        if let text = headers[.ifNoneMatch] {
            guard text == "*" else {
                throw EntityTags.malformed("If-None-Match", text, "*, which means: only if it does not exist yet")
            }
            self = .isNew
        } else if let tags {
            self = .isAt(tags == ["*"] ? [] : Set(tags))
        } else {
            self = .none
        }
    }

    /// Requires `If-Match`, for changes that must not overwrite a state that their sender has not seen.
    ///
    /// - Throws: `HTTPProblem` with status 428 without `If-Match`, together with the tag to send.
    func required(_ current: SettingsTag) throws(HTTPProblem) {
        guard case .isAt = self else {
            throw HTTPProblem(
                HTTPResponse.Status(code: 428, reasonPhrase: "Precondition Required"), "precondition-required",
                "The change must state the version it is based on", detail: "the settings are now at \(current.text)",
                field: "If-Match", expected: "the ETag of the response you read, or * to change any version",
                headers: [.eTag: current.text])
        }
    }
}

extension LayoutPrecondition {
    /// Creates a precondition from the headers of a request.
    ///
    /// - Throws: `HTTPProblem` when `If-None-Match` is anything but `*`, or `If-Match` is neither `*` nor tags in
    ///   quotes.
    init(_ headers: HTTPFields) throws(HTTPProblem) {
        var isAt: Set<Int>?
        if let text = headers[.ifMatch] {
            let tags = try EntityTags.parse(text)
            // A tag that this service did not make matches no version.
            isAt = tags == ["*"] ? [] : Set(tags.map { Int($0.trimming { $0 == "\"" }) ?? -1 })
        }
        if let text = headers[.ifNoneMatch] {
            guard text == "*" else {
                throw EntityTags.malformed(
                    "If-None-Match", text, "*, which means: only if the layout does not exist")
            }
            self = .isNew
        } else {
            self = isAt.map { .isAt($0) } ?? .none
        }
    }
}

extension StringProtocol {
    /// Returns the text without the characters at both ends for which `isOdd` is true.
    fileprivate func trimming(_ isOdd: (Character) -> Bool) -> String {
        let front = drop(while: isOdd)
        return String(front.reversed().drop(while: isOdd).reversed())
    }
}
