import TaskStore

/// Descriptions of outcomes for events, metrics and operators.
extension LayoutCatalogue.Outcome {
    package var good: LayoutCatalogue.Good? {
        switch self {
        case .changed(let good), .restored(let good): good
        case .nothing, .rejected, .deleted: nil
        }
    }

    /// Whether the operators of the affected rooms should be notified.
    var isTrouble: Bool {
        switch self {
        case .rejected, .deleted: true
        case .nothing, .changed, .restored: false
        }
    }

    var versionInUse: Int? {
        switch self {
        case .nothing: nil
        case .changed(let good), .restored(let good): good.version.number
        case .rejected(_, let kept), .deleted(let kept): kept?.version.number
        }
    }

    var eventKind: LayoutEvent.Kind? {
        switch self {
        case .nothing: nil
        case .changed, .restored: .changed
        case .rejected: .rejected
        case .deleted: .deleted
        }
    }

    /// The `result` label of `layout_reloads_total`.
    var metric: String? {
        switch self {
        case .nothing: nil
        case .changed, .restored: "accepted"
        case .rejected: "rejected"
        case .deleted: "deleted"
        }
    }

    /// Returns a message for operators, on one line.
    package func message(of name: String) -> String {
        switch self {
        case .nothing:
            return "layout \(name) is unchanged"
        case .changed(let good):
            let maker =
                switch good.version.origin {
                case .file: "its file was saved"
                case .api: "it was set by API"
                case .rollback: "an older version was restored"
                }
            return "layout \(name): version \(good.version.number) is in use, \(maker)"
        case .restored(let good):
            return "layout \(name): its file is valid again, version \(good.version.number) is in use"
        case .rejected(let problem, let kept):
            let stays = kept.map { "version \($0.version.number) stays on air" } ?? "it never had a valid version"
            return "layout \(name): its file is invalid, \(stays): \(problem.summary)"
        case .deleted(let kept):
            let stays = kept.map { "; rooms that use it keep version \($0.version.number)" } ?? ""
            return "layout \(name): its file was removed\(stays)"
        }
    }
}

extension LayoutCatalogue {
    /// Returns the outcome that `take` would have for this reading.
    func expecting(
        _ reading: LayoutReading, of name: String, at: Double, origin: LayoutVersion.Origin
    ) -> Outcome {
        var copy = self
        return copy.take(reading, of: name, at: at, origin: origin)
    }
}
