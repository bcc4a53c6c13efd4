import TextFormats

extension LayoutTemplate {
    /// Maximum number of values kept for a program: those of its layout, and others for later layouts with such names.
    package static let mostKeptValues = 64

    /// Returns the values of parameters after a JSON merge patch (RFC 7396): a value sets a parameter, null restores
    /// its default.
    ///
    /// Values of names that the layout does not have are kept, as long as there are at most `mostKeptValues`.
    ///
    /// - Parameters:
    ///   - patch: The patch, with its position in the request.
    ///   - path: Path of the patch in the request, such as `$.params`.
    ///   - values: Values so far.
    ///   - refusedImages: Reasons why images cannot be used, by reference.
    /// - Throws: `LayoutError` with every issue of the patch; or, if each value is allowed by itself, with those that
    ///   the layout's file would have.
    package func merging(
        _ patch: JSONNode, at path: String = "$", into values: [String: LayoutParameter.Value],
        refusedImages: [String: String] = [:]
    ) throws(LayoutError) -> [String: LayoutParameter.Value] {
        guard case .object(let members) = patch.value else {
            throw LayoutError(
                layout: name,
                issues: [LayoutIssue(patch, path, expected: "an object of names and values of the layout's parameters")]
            )
        }
        var merged = values
        var issues: [LayoutIssue] = []
        for member in members where issues.count < Self.mostIssues {
            let place = JSONPath.member(member.key, of: path)
            guard let parameter = parameter(member.key) else {
                issues.append(unknown(member, place))
                continue
            }
            if case .null = member.node.value {
                merged[parameter.name] = nil
            } else if let value = LayoutParameter.Value(member.node), parameter.allows(value) {
                merged[parameter.name] = value
                if parameter.kind == .image, let reason = refusedImages[value.description] {
                    issues.append(
                        LayoutIssue(
                            path: place, at: member.node.position,
                            found: "\(JSONNode.quoted(value.description)): \(reason)",
                            expected: "an image that can be shown"))
                }
            } else {
                issues.append(LayoutIssue(member.node, place, expected: parameter.kind.expected))
            }
        }
        guard issues.isEmpty else { throw LayoutError(layout: name, issues: issues) }
        let together = jointIssues(of: merged)
        guard together.isEmpty else { throw LayoutError(layout: name, issues: together) }
        if merged.count > Self.mostKeptValues { merged = merged.filter { parameter($0.key) != nil } }
        return merged
    }

    /// Returns the values that belong to a parameter of the layout and are allowed for it.
    package func allowed(among values: [String: LayoutParameter.Value]) -> [String: LayoutParameter.Value] {
        parameters.reduce(into: [:]) { allowed, parameter in
            if let value = values[parameter.name], parameter.allows(value) { allowed[parameter.name] = value }
        }
    }

    /// Returns the images named by the values, in addition to those of the file.
    package func images(of values: [String: LayoutParameter.Value]) -> Set<String> {
        Set(
            parameters.compactMap { parameter in
                guard parameter.kind == .image, let value = values[parameter.name], parameter.allows(value) else {
                    return nil
                }
                return value.description.isEmpty ? nil : value.description
            })
    }

    /// Compares bytes: two spellings that Unicode considers equal are different names.
    private func parameter(_ name: String) -> LayoutParameter? {
        parameters.first { $0.name.utf8.elementsEqual(name.utf8) }
    }

    private func unknown(_ member: JSONMember, _ place: String) -> LayoutIssue {
        let names = parameters.map(\.name)
        return LayoutIssue(
            path: place, at: member.keyPosition, found: "an unknown parameter",
            expected: names.isEmpty ? "none, because the layout \"\(name)\" has no parameters" : JSONPath.list(names),
            suggestion: Spelling.nearest(to: member.key, in: names).map(JSONNode.quoted))
    }

    /// Returns the issues of the file with values that are each allowed individually.
    private func jointIssues(of values: [String: LayoutParameter.Value]) -> [LayoutIssue] {
        guard let source, let root = try? JSONNode(parsing: source, limits: .layouts) else { return [] }
        var decoder = TemplateDecoder()
        _ = decoder.template(root, name: name, values: allowed(among: values))
        return Array(decoder.issues.prefix(Self.mostIssues))
    }
}
