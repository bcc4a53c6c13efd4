/// Everything that is wrong with one layout file.
public struct LayoutError: Error, Hashable, Codable, Sendable {
    /// The layout's name.
    public var layout: String
    /// In the order of the file, at least one.
    public var issues: [LayoutIssue]

    public init(layout: String, issues: [LayoutIssue]) {
        self.layout = layout
        self.issues = issues
    }
}

/// One thing that is wrong, and where.
public struct LayoutIssue: Hashable, Codable, Sendable {
    /// JSONPath of the value at fault: `$.arrangements[0].gap`.
    public var path: String
    /// Counted from 1.
    public var line: Int
    /// Counted from 1, in bytes of UTF-8.
    public var column: Int
    /// What stands there, in words or as JSON, shortened.
    public var found: String
    /// What may stand there.
    public var expected: String
    /// What was probably meant, as it should be written.
    public var suggestion: String?

    public init(
        path: String, line: Int, column: Int, found: String, expected: String, suggestion: String? = nil
    ) {
        self.path = path
        self.line = line
        self.column = column
        self.found = found
        self.expected = expected
        self.suggestion = suggestion
    }
}

extension LayoutIssue: CustomStringConvertible {
    /// `4:12: $.arrangements[0].fit: found "covr", expected "cover", "contain" or "stretch"; did you mean "cover"?`
    public var description: String {
        "\(line):\(column): \(path): found \(found), expected \(expected)"
            + (suggestion.map { "; did you mean \($0)?" } ?? "")
    }
}

extension LayoutError: CustomStringConvertible {
    /// One line an issue, each as compilers and editors write it: `name.json:line:column: …`.
    public var description: String {
        issues.map { "\(layout).json:\($0)" }.joined(separator: "\n")
    }
}
