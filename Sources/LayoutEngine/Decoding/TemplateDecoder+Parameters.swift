import TextFormats

// MARK: - Parameters
extension TemplateDecoder {
    static let mostParameters = 32
    private static let numbers = -1_000_000.0...1_000_000

    /// Reads `params` in a file's root, which declares the file's parameters.
    mutating func parameters(_ root: JSONNode) -> [LayoutParameter] {
        guard let node = root[key: "params"] else { return [] }
        guard case .object(let members) = node.value, members.count <= Self.mostParameters else {
            issues.append(
                LayoutIssue(node, "$.params", expected: "an object of at most \(Self.mostParameters) parameters"))
            return []
        }
        var parameters: [LayoutParameter] = []
        for member in members {
            let path = JSONPath.member(member.key, of: "$.params")
            guard TextPart.isName(member.key), !parameters.contains(where: { $0.name == member.key }),
                !LayoutValues.builtIn.contains(member.key)
            else {
                issues.append(
                    LayoutIssue(
                        path: path, at: member.keyPosition, found: "the name \(JSONNode.quoted(member.key))",
                        expected:
                            "a letter, then letters, digits, \"_\" and \"-\", at most 40, each name once and none of "
                            + JSONPath.list(LayoutValues.builtIn)))
                continue
            }
            if let parameter = parameter(member.key, member.node, path) { parameters.append(parameter) }
        }
        return parameters
    }

    private mutating func parameter(_ name: String, _ node: JSONNode, _ path: String) -> LayoutParameter? {
        guard var reader = JSONObjectReader(node, path: path, issues: &issues) else { return nil }
        let words = LayoutParameter.Kind.words
        guard reader.required("type", expected: JSONPath.list(words)) != nil,
            let word = reader.word("type", of: words, issues: &issues)
        else {
            for key in ["default", "title", "min", "max", "maxLength"] { _ = reader.optional(key) }
            reader.finish(issues: &issues)
            return nil
        }
        let title = reader.text("title", issues: &issues)
        let length = reader.integer("maxLength", in: 1...256, issues: &issues) ?? 256
        let least = reader.number("min", in: Self.numbers, issues: &issues) ?? 0
        let most = reader.number("max", in: Self.numbers, issues: &issues) ?? max(1, least)
        for (key, owner) in [("maxLength", "text"), ("min", "number"), ("max", "number")]
        where reader.has(key) && owner != word {
            issues.append(
                LayoutIssue(
                    path: reader.path(of: key), at: reader.position(of: key), found: "\"\(key)\" of a \(word)",
                    expected: "\"\(key)\" only of a \(owner)"))
        }
        let kind: LayoutParameter.Kind
        switch word {
        case "text": kind = .text(most: length)
        case "number":
            guard least <= most else {
                issues.append(
                    LayoutIssue(
                        path: path, at: node.position, found: "min \(JSONNode.text(of: least)) greater than max",
                        expected: "min ≤ max"))
                return nil
            }
            kind = .number(least...most)
        case "color": kind = .colour
        case "image": kind = .image
        default: kind = .visible
        }
        var parameter = LayoutParameter(name: name, kind: kind, standard: .text(""), title: title)
        let standard = reader.required("default", expected: kind.expected)
        reader.finish(issues: &issues)
        guard let standard else { return nil }
        guard let value = LayoutParameter.Value(standard), parameter.allows(value) else {
            issues.append(LayoutIssue(standard, reader.path(of: "default"), expected: kind.expected))
            return nil
        }
        parameter.standard = value
        return parameter
    }

    /// Returns a file's root with the values of its parameters inserted. A file without parameters is unchanged.
    mutating func prepared(
        _ root: JSONNode, _ parameters: [LayoutParameter], _ values: [String: LayoutParameter.Value]
    ) -> JSONNode {
        guard !parameters.isEmpty, case .object(let members) = root.value else { return root }
        names = Set(parameters.map(\.name)).union(LayoutValues.builtIn)
        let used = Dictionary(
            parameters.map { parameter in
                let value = values[parameter.name].flatMap { parameter.allows($0) ? $0 : nil }
                return (parameter.name, value ?? parameter.standard)
            }, uniquingKeysWith: { first, _ in first })
        var root = root
        root.value = .object(
            members.map { member in
                var member = member
                if member.key != "params" {
                    member.node = substituting(member.node, JSONPath.member(member.key, of: "$"), by: used)
                }
                return member
            })
        return root
    }

    /// Returns a node with `{ "param": … }` replaced by the value, at the same position in the file, so that the value
    /// is checked as if it were written there.
    mutating func substituting(
        _ node: JSONNode, _ path: String, by values: [String: LayoutParameter.Value]
    ) -> JSONNode {
        var node = node
        switch node.value {
        case .array(let elements):
            node.value = .array(
                elements.enumerated().map { substituting($0.element, "\(path)[\($0.offset)]", by: values) })
        case .object(let members):
            if members.count == 1, let member = members.first, member.key == "param" {
                if case .string(let name) = member.node.value, let value = values[name] {
                    node.value = value.json
                } else {
                    unknown.append(node.position)
                    note(member.node, JSONPath.member("param", of: path), isOneOf: values.keys.sorted())
                }
                return node
            }
            node.value = .object(
                members.map { member in
                    var member = member
                    member.node = substituting(member.node, JSONPath.member(member.key, of: path), by: values)
                    return member
                })
        case .null, .boolean, .number, .string: break
        }
        return node
    }

    private mutating func note(_ node: JSONNode, _ path: String, isOneOf names: [String]) {
        let name = if case .string(let text) = node.value { text } else { "" }
        issues.append(
            LayoutIssue(
                node, path,
                expected: names.isEmpty ? "a name of \"params\", which the file has not" : JSONPath.list(names),
                suggestion: Spelling.nearest(to: name, in: names).map(JSONNode.quoted)))
    }

    /// Adds an issue for each name in braces that has no value, in files that have parameters. In other files, the
    /// braces may be intended as text.
    mutating func noteUnknownNames(in text: String, _ reader: JSONObjectReader) {
        guard !names.isEmpty else { return }
        for case .name(let name) in TextPart.parts(of: text) where !names.contains(name) {
            let known = names.sorted()
            issues.append(
                LayoutIssue(
                    path: reader.path(of: "text"), at: reader.position(of: "text"), found: "the name {\(name)}",
                    expected: JSONPath.list(known), suggestion: Spelling.nearest(to: name, in: known).map { "{\($0)}" })
            )
        }
    }
}

extension LayoutParameter.Value {
    init?(_ node: JSONNode) {
        switch node.value {
        case .string(let text): self = .text(text)
        case .number(let number): self = .number(number)
        case .boolean(let flag): self = .flag(flag)
        case .null, .array, .object: return nil
        }
    }

    fileprivate var json: JSONNode.Value {
        switch self {
        case .text(let text): .string(text)
        case .number(let number): .number(number)
        case .flag(let flag): .boolean(flag)
        }
    }
}
