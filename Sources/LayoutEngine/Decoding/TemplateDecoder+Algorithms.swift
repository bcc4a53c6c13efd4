// MARK: - Algorithms
extension TemplateDecoder {
    /// Reads the name of an algorithm and its settings.
    ///
    /// - Parameter orPanes: Whether `panes` is allowed here instead.
    mutating func algorithm(
        _ reader: inout JSONObjectReader, orPanes: Bool
    ) -> (algorithm: Algorithm, featured: StreamSelector?)? {
        let words = JSONPath.list(LayoutAlgorithms.names)
        guard
            reader.required("algorithm", expected: orPanes ? "\(words), or \"panes\"" : words) != nil,
            let name = reader.word("algorithm", of: LayoutAlgorithms.names, issues: &issues),
            let algorithm = LayoutAlgorithms.named(name)
        else {
            // The algorithm decides which other keys are allowed: reporting them as unknown would mislead.
            for key in ["featured"] + LayoutAlgorithms.keys { _ = reader.optional(key) }
            return nil
        }
        let featured = reader.object("featured", issues: &issues).flatMap { selector($0) }
        return (Algorithm(algorithm.init(&reader, issues: &issues)), featured)
    }

    /// Reads an object that consists of a selector only.
    private mutating func selector(_ reader: JSONObjectReader) -> StreamSelector? {
        var reader = reader
        let selector = selector(&reader)
        reader.finish(issues: &issues)
        return selector
    }

    /// Reads a selector: at least one of `user`, `role` and `stream`.
    mutating func selector(_ reader: inout JSONObjectReader) -> StreamSelector? {
        let selector = StreamSelector(
            user: reader.text("user", issues: &issues),
            role: reader.choice("role", of: LayoutParticipant.Role.self, issues: &issues),
            stream: reader.choice("stream", of: LayoutParticipant.Kind.self, issues: &issues))
        guard !["user", "role", "stream"].contains(where: reader.has) else { return selector }
        issues.append(
            LayoutIssue(
                path: reader.path, at: reader.position, found: "an empty selector",
                expected: "one or more of \"user\", \"role\" and \"stream\""))
        return nil
    }
}

// MARK: - Conditions
extension TemplateDecoder {
    mutating func condition(_ parent: inout JSONObjectReader) -> Condition {
        guard var reader = parent.object("when", issues: &issues) else { return .always }
        let condition = Condition(
            people: range("people", &reader), hosts: range("hosts", &reader), guests: range("guests", &reader),
            audioOnly: range("audioOnly", &reader), screen: reader.boolean("screen", issues: &issues),
            canvas: reader.choice("canvas", of: Orientation.self, issues: &issues),
            sources: reader.choice("sources", of: Condition.SourceShape.self, issues: &issues))
        reader.finish(issues: &issues)
        return condition
    }

    /// Reads a number, or an object with inclusive limits, both of them optional.
    private mutating func range(_ key: String, _ parent: inout JSONObjectReader) -> ClosedRange<Int> {
        guard let node = parent.optional(key) else { return Condition.any }
        guard case .object = node.value else {
            if case .number(let number) = node.value, let count = Int(exactly: number),
                0...LayoutLimits.mostPeople ~= count
            {
                return count...count
            }
            issues.append(
                LayoutIssue(
                    node, parent.path(of: key),
                    expected: "a whole number from 0 to \(LayoutLimits.mostPeople), or {\"min\": …, \"max\": …}"))
            return Condition.any
        }
        guard var reader = JSONObjectReader(node, path: parent.path(of: key), issues: &issues) else {
            return Condition.any
        }
        let least = reader.integer("min", in: 0...LayoutLimits.mostPeople, issues: &issues) ?? 0
        let most = reader.integer("max", in: 0...LayoutLimits.mostPeople, issues: &issues) ?? Int.max
        reader.finish(issues: &issues)
        guard least <= most else {
            issues.append(
                LayoutIssue(
                    path: parent.path(of: key), at: node.position, found: "min \(least) greater than max \(most)",
                    expected: "min ≤ max"))
            return Condition.any
        }
        return least...most
    }
}
