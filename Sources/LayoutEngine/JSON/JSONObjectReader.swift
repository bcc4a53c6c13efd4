/// Takes an object apart key by key and notes every issue instead of stopping at the first.
struct JSONObjectReader {
    let path: String
    let position: JSONPosition
    private var members: [String: JSONMember] = [:]
    private var keys: [JSONMember] = []
    private var known: [String] = []

    /// `nil`, with an issue, when the node is no object.
    init?(_ node: JSONNode, path: String, issues: inout [LayoutIssue]) {
        self.path = path
        position = node.position
        guard case .object(let all) = node.value else {
            issues.append(LayoutIssue(node, path, expected: "an object"))
            return nil
        }
        for member in all {
            if let first = members[member.key] {
                issues.append(
                    LayoutIssue(
                        path: JSONPath.member(member.key, of: path), at: member.keyPosition, found: "the key again",
                        expected: "it once (first on line \(first.keyPosition.line))"))
            } else {
                members[member.key] = member
                keys.append(member)
            }
        }
    }

    func has(_ key: String) -> Bool { members[key] != nil }

    func path(of key: String) -> String { JSONPath.member(key, of: path) }

    /// The value of a key that may be missing.
    mutating func optional(_ key: String) -> JSONNode? {
        known.append(key)
        return members[key]?.node
    }

    mutating func required(_ key: String, expected: String, issues: inout [LayoutIssue]) -> JSONNode? {
        if let node = optional(key) { return node }
        // A misspelt key is one mistake, and the unknown key tells it better.
        guard !keys.contains(where: { Spelling.nearest(to: $0.key, in: [key]) != nil }) else { return nil }
        issues.append(
            LayoutIssue(path: self.path(of: key), at: position, found: "nothing", expected: expected))
        return nil
    }

    /// Notes every key that nobody asked for. Call it last.
    func finish(issues: inout [LayoutIssue]) {
        let allowed = Set(known).sorted()
        for member in keys where !allowed.contains(member.key) {
            let unused = allowed.filter { members[$0] == nil }
            issues.append(
                LayoutIssue(
                    path: self.path(of: member.key), at: member.keyPosition, found: "an unknown key",
                    expected: JSONPath.list(allowed),
                    suggestion: Spelling.nearest(to: member.key, in: unused).map(JSONNode.quoted)))
        }
    }
}

// MARK: - Typed values
extension JSONObjectReader {
    mutating func text(_ key: String, issues: inout [LayoutIssue]) -> String? {
        guard let node = optional(key) else { return nil }
        guard case .string(let text) = node.value, !text.isEmpty, text.utf8.count <= 256 else {
            issues.append(LayoutIssue(node, path(of: key), expected: "a text of 1 to 256 bytes"))
            return nil
        }
        return text
    }

    mutating func integer(
        _ key: String, in range: ClosedRange<Int>, isEven: Bool = false, issues: inout [LayoutIssue]
    ) -> Int? {
        guard let node = optional(key) else { return nil }
        if case .number(let number) = node.value, let value = Int(exactly: number), range.contains(value),
            !isEven || value.isMultiple(of: 2)
        {
            return value
        }
        let kind = isEven ? "an even whole number" : "a whole number"
        issues.append(
            LayoutIssue(
                node, path(of: key), expected: "\(kind) from \(range.lowerBound) to \(range.upperBound)"))
        return nil
    }

    mutating func fraction(
        _ key: String, in range: ClosedRange<Double>, issues: inout [LayoutIssue]
    ) -> UnitFraction? {
        guard let node = optional(key) else { return nil }
        if case .number(let number) = node.value, range.contains(number) { return UnitFraction(number) }
        let limits = "\(JSONNode.text(of: range.lowerBound)) to \(JSONNode.text(of: range.upperBound))"
        issues.append(LayoutIssue(node, path(of: key), expected: "a number from \(limits)"))
        return nil
    }

    mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, of _: Choice.Type, issues: inout [LayoutIssue]
    ) -> Choice? where Choice.RawValue == String {
        guard let node = optional(key) else { return nil }
        let allowed = Choice.allCases.map(\.rawValue)
        guard case .string(let text) = node.value else {
            issues.append(LayoutIssue(node, path(of: key), expected: JSONPath.list(allowed)))
            return nil
        }
        if let choice = Choice(rawValue: text) { return choice }
        issues.append(
            LayoutIssue(
                node, path(of: key), expected: JSONPath.list(allowed),
                suggestion: Spelling.nearest(to: text, in: allowed).map(JSONNode.quoted)))
        return nil
    }
}

/// How places and choices are written in issues.
enum JSONPath {
    static func member(_ key: String, of path: String) -> String {
        let isPlain = key.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return isPlain && !key.isEmpty ? "\(path).\(key)" : "\(path)[\(JSONNode.quoted(key))]"
    }

    /// `"a", "b" or "c"`.
    static func list(_ words: [String]) -> String {
        let quoted = words.map(JSONNode.quoted)
        guard let last = quoted.last, quoted.count > 1 else { return quoted.first ?? "nothing" }
        return quoted.dropLast().joined(separator: ", ") + " or \(last)"
    }
}

extension LayoutIssue {
    init(
        path: String, at position: JSONPosition, found: String, expected: String, suggestion: String? = nil
    ) {
        self.init(
            path: path, line: position.line, column: position.column, found: found, expected: expected,
            suggestion: suggestion)
    }

    init(_ node: JSONNode, _ path: String, expected: String, suggestion: String? = nil) {
        self.init(
            path: path, at: node.position, found: node.summary, expected: expected, suggestion: suggestion)
    }
}
