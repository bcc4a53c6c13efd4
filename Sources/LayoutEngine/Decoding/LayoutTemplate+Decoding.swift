import TextFormats

extension LayoutTemplate {
    /// The most issues reported one by one. Further issues are only counted, which keeps answers small.
    static let mostIssues = 200

    /// Reads a layout file.
    ///
    /// - Parameters:
    ///   - bytes: JSON in UTF-8, at most 256 KiB.
    ///   - name: The file's name without `.json`.
    /// - Throws: `LayoutError` with the issues of the whole file: at most 200, and one more that counts the rest. A
    ///   file that is not JSON has one issue, at the place where parsing stopped.
    public static func decode(_ bytes: some Sequence<UInt8>, name: String) throws(LayoutError) -> LayoutTemplate {
        let root: JSONNode
        let bytes = Array(bytes)
        do {
            root = try JSONNode(parsing: bytes, limits: .layouts)
        } catch {
            throw LayoutError(layout: name, issues: [LayoutIssue(error, in: bytes)])
        }
        var decoder = TemplateDecoder()
        let template = decoder.template(root, name: name)
        guard let template, decoder.issues.isEmpty else {
            var inFileOrder = decoder.issues.enumerated().sorted {
                ($0.element.line, $0.element.column, $0.offset) < ($1.element.line, $1.element.column, $1.offset)
            }.map(\.element)
            if inFileOrder.count > mostIssues, let first = inFileOrder.dropFirst(mostIssues).first {
                let more = LayoutIssue(
                    path: first.path, line: first.line, column: first.column,
                    found: "\(inFileOrder.count - mostIssues) more issues from here on", expected: "none")
                inFileOrder = inFileOrder.prefix(mostIssues) + [more]
            }
            throw LayoutError(layout: name, issues: inFileOrder)
        }
        return template
    }
}
