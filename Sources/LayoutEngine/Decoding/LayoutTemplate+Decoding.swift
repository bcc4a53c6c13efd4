import TextFormats

extension LayoutTemplate {
    /// Maximum number of issues reported individually. Further issues are only counted, which keeps answers small.
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
        var template = decoder.template(root, name: name)
        if let template, decoder.issues.isEmpty { decoder.issues = extremeIssues(of: template, root) }
        template?.keep(bytes)
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

    /// Returns the issues that the layout has when its numbers have their smallest or largest permitted values.
    private static func extremeIssues(of template: LayoutTemplate, _ root: JSONNode) -> [LayoutIssue] {
        var issues: [LayoutIssue] = []
        for isLargest in [false, true] where issues.isEmpty {
            var values: [String: LayoutParameter.Value] = [:]
            for parameter in template.parameters {
                guard case .number(let range) = parameter.kind else { continue }
                values[parameter.name] = .number(isLargest ? range.upperBound : range.lowerBound)
            }
            guard !values.isEmpty else { break }
            var decoder = TemplateDecoder()
            _ = decoder.template(root, name: template.name, values: values)
            issues = decoder.issues
        }
        return issues
    }

    private mutating func keep(_ bytes: [UInt8]) {
        if !parameters.isEmpty { source = bytes }
    }

    /// Returns the template with other values of its parameters; parameters without a value have their defaults. Values
    /// that it does not have or does not allow are ignored, and all of them if the layout is not valid with them.
    ///
    /// Images are named as in the file: call this before `resolvingImages`.
    public func applying(_ values: [String: LayoutParameter.Value]) -> LayoutTemplate {
        let allowed = allowed(among: values)
        guard allowed != self.values, let source, let root = try? JSONNode(parsing: source, limits: .layouts) else {
            return self
        }
        var decoder = TemplateDecoder()
        guard var template = decoder.template(root, name: name, values: allowed), decoder.issues.isEmpty else {
            return self
        }
        (template.source, template.values) = (source, allowed)
        return template
    }
}
