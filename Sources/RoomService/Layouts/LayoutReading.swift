import LayoutEngine

/// The result of reading a layout's file.
package enum LayoutReading: Hashable, Sendable {
    case good(LayoutTemplate, content: [UInt8])
    case bad(LayoutProblem)
    case gone
}

/// The reason why a layout's file cannot be used.
package struct LayoutProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// Path of the file.
    package var file: String
    /// The reason why the file could not be read; `nil` when it was read and its template has errors.
    package var reason: String?
    /// All errors of the template, in the order of the file.
    package var issues: [LayoutIssue]

    package init(file: String, reason: String) {
        self.file = file
        self.reason = reason
        issues = []
    }

    package init(file: String, _ error: LayoutError) {
        self.file = file
        issues = error.issues
    }

    /// One error per line, as compilers write it: `layouts/grid.json:4:12: …`.
    package var description: String {
        reason.map { "\(file): \($0)" } ?? issues.map { "\(file):\($0)" }.joined(separator: "\n")
    }

    /// The first errors on one line, for timelines: `2 errors: 4:12: … · 5:1: …`.
    package var summary: String {
        if let reason { return reason }
        let shown = issues.prefix(3).map(\.description).joined(separator: " · ")
        let count = issues.count == 1 ? "1 error" : "\(issues.count) errors"
        return "\(count): \(shown)" + (issues.count > 3 ? " · …" : "")
    }
}
