import HTTPTypes

/// A request's condition on the layout that it changes: `If-Match`, `If-None-Match` (RFC 9110 §13.1).
enum LayoutPrecondition: Hashable, Sendable {
    case none
    /// The layout must exist, at one of these versions if any are named.
    case isAt(Set<Int>)
    /// The layout must not exist yet.
    case isNew

    /// Creates a precondition from the headers of a request.
    ///
    /// - Throws: `OrchestratorError` when `If-None-Match` is anything but `*`, or `If-Match` is neither `*` nor tags in
    ///   quotes.
    init(_ headers: HTTPFields) throws(OrchestratorError) {
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

    func check(_ name: String, _ entry: LayoutCatalogue.Entry?) throws(OrchestratorError) {
        let isThere = entry != nil && entry?.isDeleted == false
        let version = entry?.good?.version.number ?? 0
        switch self {
        case .none:
            return
        case .isNew:
            guard isThere else { return }
        case .isAt(let versions):
            guard !isThere || !(versions.isEmpty || versions.contains(version)) else { return }
        }
        throw OrchestratorError(
            .preconditionFailed, "layout-changed", "The layout is not in the expected state",
            detail: isThere
                ? "\(name) is at version \(version): read it again and repeat the change" : "\(name) does not exist")
    }
}

extension StringProtocol {
    /// Returns the text without the characters at both ends for which `isOdd` is true.
    fileprivate func trimming(_ isOdd: (Character) -> Bool) -> String {
        let front = drop(while: isOdd)
        return String(front.reversed().drop(while: isOdd).reversed())
    }
}
