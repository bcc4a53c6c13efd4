import LayoutEngine

/// What a look at a layout's file found.
enum LayoutReading: Hashable, Sendable {
    case good(LayoutTemplate, content: [UInt8])
    case bad(LayoutProblem)
    case gone
}

/// Why a layout's file cannot be used.
struct LayoutProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// Path of the file.
    var file: String
    /// Where the file could not even be read.
    var reason: String?
    /// All errors of the template, in the order of the file.
    var issues: [LayoutIssue]

    init(file: String, reason: String) {
        self.file = file
        self.reason = reason
        issues = []
    }

    init(file: String, _ error: LayoutError) {
        self.file = file
        issues = error.issues
    }

    /// One line an error, as compilers write it: `layouts/grid.json:4:12: …`.
    var description: String {
        reason.map { "\(file): \($0)" } ?? issues.map { "\(file):\($0)" }.joined(separator: "\n")
    }

    /// `2 errors: 4:12: … · 5:1: …`: the first of them on one line, for timelines.
    var summary: String {
        if let reason { return reason }
        let shown = issues.prefix(3).map(\.description).joined(separator: " · ")
        let count = issues.count == 1 ? "1 error" : "\(issues.count) errors"
        return "\(count): \(shown)" + (issues.count > 3 ? " · …" : "")
    }
}
