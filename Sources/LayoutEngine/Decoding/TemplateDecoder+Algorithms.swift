// MARK: - Algorithms
extension TemplateDecoder {
    /// The names of algorithms in a layout file.
    enum AlgorithmName: String, CaseIterable {
        case solo
        case sideBySide = "side-by-side"
        case pictureInPicture = "picture-in-picture"
        case grid, spotlight, stack
    }

    /// Keys that at least one algorithm understands.
    private static let algorithmKeys = ["featured", "corner", "size", "tileAspect", "edge", "max", "direction"]

    /// Reads the name of an algorithm and its settings.
    ///
    /// - Parameter orPanes: Whether `panes` is allowed here instead.
    mutating func algorithm(
        _ reader: inout JSONObjectReader, orPanes: Bool
    ) -> (algorithm: Algorithm, featured: StreamSelector?)? {
        let words = JSONPath.list(AlgorithmName.allCases.map(\.rawValue))
        guard
            reader.required("algorithm", expected: orPanes ? "\(words), or \"panes\"" : words) != nil,
            let name = reader.choice("algorithm", of: AlgorithmName.self, issues: &issues)
        else {
            // The algorithm decides which other keys are allowed: reporting them as unknown would mislead.
            for key in Self.algorithmKeys { _ = reader.optional(key) }
            return nil
        }
        let featured = reader.object("featured", issues: &issues).flatMap { selector($0) }
        let algorithm: Algorithm =
            switch name {
            case .solo: .solo
            case .sideBySide: .sideBySide
            case .pictureInPicture:
                .pictureInPicture(
                    corner: reader.choice("corner", of: Algorithm.Corner.self, issues: &issues) ?? .bottomRight,
                    size: reader.fraction("size", in: 0.05...0.5, issues: &issues) ?? UnitFraction(0.3))
            case .grid: .grid(tileAspect: tileAspect(&reader))
            case .spotlight: .spotlight(spotlight(&reader))
            case .stack:
                .stack(reader.choice("direction", of: Algorithm.Direction.self, issues: &issues) ?? .vertical)
            }
        return (algorithm, featured)
    }

    private mutating func spotlight(_ reader: inout JSONObjectReader) -> Algorithm.Spotlight {
        var spotlight = Algorithm.Spotlight()
        if let edge = reader.choice("edge", of: Algorithm.Spotlight.Edge.self, issues: &issues) {
            spotlight.edge = edge
        }
        if let size = reader.fraction("size", in: 0.05...0.5, issues: &issues) { spotlight.size = size }
        if let most = reader.integer("max", in: 1...LayoutLimits.mostPanes - 1, issues: &issues) {
            spotlight.most = most
        }
        spotlight.tileAspect = tileAspect(&reader)
        return spotlight
    }

    private mutating func tileAspect(_ reader: inout JSONObjectReader) -> Aspect? {
        guard let node = reader.optional("tileAspect") else { return nil }
        if case .string(let text) = node.value, let aspect = Aspect(text) { return aspect }
        issues.append(
            LayoutIssue(
                node, reader.path(of: "tileAspect"), expected: "a shape like \"16:9\", both sides 1 to 100"))
        return nil
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
            canvas: reader.choice("canvas", of: Condition.Orientation.self, issues: &issues),
            sources: reader.choice("sources", of: Condition.SourceShape.self, issues: &issues))
        reader.finish(issues: &issues)
        return condition
    }

    /// Reads a number, or an object with inclusive limits, both of them optional.
    private mutating func range(_ key: String, _ parent: inout JSONObjectReader) -> ClosedRange<Int> {
        guard let node = parent.optional(key) else { return Condition.any }
        guard case .object = node.value else {
            if case .number(let number) = node.value, let count = Int(exactly: number), 0...LayoutLimits.mostPeople ~= count {
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
