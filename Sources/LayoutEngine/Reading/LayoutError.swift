/// All issues of one layout file.
public struct LayoutError: Error, Hashable, Codable, Sendable {
    /// The layout's name.
    public var layout: String
    /// The issues in file order, at least one.
    public var issues: [LayoutIssue]

    public init(layout: String, issues: [LayoutIssue]) {
        self.layout = layout
        self.issues = issues
    }
}

/// An issue in a layout file, with its position.
public struct LayoutIssue: Hashable, Codable, Sendable {
    /// JSONPath of the value at fault: `$.arrangements[0].gap`.
    public var path: String
    /// The line of the issue, counted from 1.
    public var line: Int
    /// The column of the issue in bytes of UTF-8, counted from 1.
    public var column: Int
    /// The value found there, in words or as JSON, shortened.
    public var found: String
    /// The values allowed there.
    public var expected: String
    /// The value that was probably intended, in the form in which it should be written.
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
    /// The issue in one line, as in
    /// `4:12: $.arrangements[0].fit: found "covr", expected "cover", "contain" or "stretch"; did you mean "cover"?`
    public var description: String {
        "\(line):\(column): \(path): found \(found), expected \(expected)"
            + (suggestion.map { "; did you mean \($0)?" } ?? "")
    }
}

extension LayoutError: CustomStringConvertible {
    /// The issues, one per line, in the format of compilers and editors: `name.json:line:column: …`.
    public var description: String {
        issues.map { "\(layout).json:\($0)" }.joined(separator: "\n")
    }
}
