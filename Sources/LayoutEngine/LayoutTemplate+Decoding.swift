extension LayoutTemplate {
    /// Reads a layout file.
    ///
    /// - Parameters:
    ///   - bytes: JSON in UTF-8, at most 256 KiB.
    ///   - name: The file's name without `.json`.
    /// - Throws: Every issue of the file at once; a file that is no JSON has one, where reading stopped.
    public static func decode(_ bytes: some Sequence<UInt8>, name: String) throws(LayoutError) -> LayoutTemplate {
        let root: JSONNode
        do {
            root = try JSONParser.parse(Array(bytes))
        } catch {
            let issue = LayoutIssue(
                path: "$", at: error.position, found: error.found, expected: error.expected)
            throw LayoutError(layout: name, issues: [issue])
        }
        var decoder = TemplateDecoder()
        let template = decoder.template(root, name: name)
        guard let template, decoder.issues.isEmpty else {
            let inFileOrder = decoder.issues.enumerated().sorted {
                ($0.element.line, $0.element.column, $0.offset) < ($1.element.line, $1.element.column, $1.offset)
            }
            throw LayoutError(layout: name, issues: inFileOrder.map(\.element))
        }
        return template
    }
}

/// Reads the parts of a template. A part that is wrong leaves an issue and a harmless value, so that the rest is
/// checked too.
private struct TemplateDecoder {
    var issues: [LayoutIssue] = []

    private enum Algorithm: String, CaseIterable {
        case solo
        case sideBySide = "side-by-side"
        case pictureInPicture = "picture-in-picture"
        case grid
    }

    /// People beyond this are no sensible limit of a rule.
    private static let mostPeople = 1000
    private static let mostArrangements = 32
    private static let lengths = 0...0.25

    /// What arrangements inherit from the top of the file.
    private struct Defaults {
        var fit: Pane.Fit
        var gap: UnitFraction
        var margin: UnitFraction
    }

    /// `nil` only together with an issue.
    mutating func template(_ node: JSONNode, name: String) -> LayoutTemplate? {
        guard var reader = JSONObjectReader(node, path: "$", issues: &issues) else { return nil }
        _ = reader.optional("$schema")
        let summary = reader.text("description", issues: &issues)
        let canvas = canvas(&reader)
        let defaults = Defaults(
            fit: reader.choice("fit", of: Pane.Fit.self, issues: &issues) ?? .cover,
            gap: reader.fraction("gap", in: Self.lengths, issues: &issues) ?? .zero,
            margin: reader.fraction("margin", in: Self.lengths, issues: &issues) ?? .zero)
        let expected = "an array of 1 to \(Self.mostArrangements) arrangements"
        var arrangements: [Arrangement] = []
        if let node = reader.required("arrangements", expected: expected, issues: &issues) {
            if case .array(let elements) = node.value, 1...Self.mostArrangements ~= elements.count {
                for (index, element) in elements.enumerated() {
                    let path = "$.arrangements[\(index)]"
                    guard let arrangement = arrangement(element, path, defaults) else { continue }
                    noteUnreachable(arrangement, after: arrangements, element, path)
                    arrangements.append(arrangement)
                }
            } else {
                issues.append(LayoutIssue(node, "$.arrangements", expected: expected))
            }
        }
        reader.finish(issues: &issues)
        return LayoutTemplate(name: name, summary: summary, canvas: canvas, arrangements: arrangements)
    }

    private mutating func canvas(_ parent: inout JSONObjectReader) -> CanvasOverride {
        guard let node = parent.optional("canvas"),
            var reader = JSONObjectReader(node, path: "$.canvas", issues: &issues)
        else { return CanvasOverride() }
        var canvas = CanvasOverride(
            width: reader.integer("width", in: 16...7680, isEven: true, issues: &issues),
            height: reader.integer("height", in: 16...7680, isEven: true, issues: &issues),
            fps: reader.integer("fps", in: 1...60, issues: &issues))
        if let node = reader.optional("background") {
            if case .string(let text) = node.value, let colour = RGB(hex: text) {
                canvas.background = colour
            } else {
                issues.append(
                    LayoutIssue(node, reader.path(of: "background"), expected: "a colour like \"#1A2B3C\""))
            }
        }
        reader.finish(issues: &issues)
        return canvas
    }

    private mutating func arrangement(
        _ node: JSONNode, _ path: String, _ defaults: Defaults
    ) -> Arrangement? {
        guard var reader = JSONObjectReader(node, path: path, issues: &issues) else { return nil }
        let condition = condition(&reader)
        let fit = reader.choice("fit", of: Pane.Fit.self, issues: &issues) ?? defaults.fit
        let placement: Arrangement.Placement?
        var gap = UnitFraction.zero
        var margin = UnitFraction.zero
        if reader.has("panes"), !reader.has("algorithm") {
            placement = .panes(panes(&reader))
        } else {
            gap = reader.fraction("gap", in: Self.lengths, issues: &issues) ?? defaults.gap
            margin = reader.fraction("margin", in: Self.lengths, issues: &issues) ?? defaults.margin
            placement = algorithm(&reader)
        }
        reader.finish(issues: &issues)
        return placement.map {
            Arrangement(when: condition, placement: $0, fit: fit, gap: gap, margin: margin)
        }
    }

    private mutating func algorithm(_ reader: inout JSONObjectReader) -> Arrangement.Placement? {
        if reader.has("panes"), let node = reader.optional("panes") {
            issues.append(
                LayoutIssue(
                    path: reader.path(of: "panes"), at: node.position, found: "panes beside an algorithm",
                    expected: "one of the two"))
        }
        let named = JSONPath.list(Algorithm.allCases.map(\.rawValue))
        guard reader.has("algorithm") else {
            _ = reader.required("algorithm", expected: "\(named), or \"panes\"", issues: &issues)
            // Which other keys are allowed depends on it: reporting them as unknown would mislead.
            for key in ["panes", "corner", "size", "tileAspect"] { _ = reader.optional(key) }
            return nil
        }
        guard let algorithm = reader.choice("algorithm", of: Algorithm.self, issues: &issues) else {
            for key in ["corner", "size", "tileAspect"] { _ = reader.optional(key) }
            return nil
        }
        switch algorithm {
        case .solo: return .solo
        case .sideBySide: return .sideBySide
        case .pictureInPicture:
            return .pictureInPicture(
                corner: reader.choice("corner", of: Arrangement.Corner.self, issues: &issues) ?? .bottomRight,
                size: reader.fraction("size", in: 0.05...0.5, issues: &issues) ?? UnitFraction(0.3))
        case .grid:
            guard let node = reader.optional("tileAspect") else { return .grid(tileAspect: nil) }
            if case .string(let text) = node.value, let aspect = Aspect(text) { return .grid(tileAspect: aspect) }
            issues.append(
                LayoutIssue(
                    node, reader.path(of: "tileAspect"), expected: "a shape like \"16:9\", both sides 1 to 100"))
            return nil
        }
    }

    private mutating func condition(_ parent: inout JSONObjectReader) -> Arrangement.Condition {
        guard let node = parent.optional("when"),
            var reader = JSONObjectReader(node, path: parent.path(of: "when"), issues: &issues)
        else { return .always }
        var condition = Arrangement.Condition.always
        if let node = reader.optional("people"),
            var people = JSONObjectReader(node, path: reader.path(of: "people"), issues: &issues)
        {
            let least = people.integer("min", in: 0...Self.mostPeople, issues: &issues) ?? 0
            let most = people.integer("max", in: 0...Self.mostPeople, issues: &issues)
            people.finish(issues: &issues)
            if least <= most ?? Int.max {
                condition.people = least...(most ?? Int.max)
            } else {
                issues.append(
                    LayoutIssue(
                        path: reader.path(of: "people"), at: node.position,
                        found: "min \(least) above max \(most ?? least)", expected: "min ≤ max"))
            }
        }
        reader.finish(issues: &issues)
        return condition
    }

    /// An arrangement that those before it leave nothing to is a mistake in the order of the file.
    private mutating func noteUnreachable(
        _ arrangement: Arrangement, after earlier: [Arrangement], _ node: JSONNode, _ path: String
    ) {
        let wanted = arrangement.when.people.clamped(to: 0...(Self.mostPeople + 1))
        let isTaken = wanted.allSatisfy { count in earlier.contains { $0.when.people.contains(count) } }
        guard isTaken else { return }
        issues.append(
            LayoutIssue(
                path: path, at: node.position, found: "an arrangement that those before it always win over",
                expected: "a condition that they do not cover"))
    }
}

// MARK: - Explicit panes
extension TemplateDecoder {
    private mutating func panes(_ parent: inout JSONObjectReader) -> [PaneTemplate] {
        guard let node = parent.optional("panes") else { return [] }
        let path = parent.path(of: "panes")
        guard case .array(let elements) = node.value, 1...LayoutEngine.mostPanes ~= elements.count else {
            issues.append(
                LayoutIssue(node, path, expected: "an array of 1 to \(LayoutEngine.mostPanes) panes"))
            return []
        }
        var panes: [(index: Int, pane: PaneTemplate)] = []
        for (index, element) in elements.enumerated() {
            let elementPath = "\(path)[\(index)]"
            guard let pane = pane(element, elementPath) else { continue }
            for other in panes where other.pane.z == pane.z && other.pane.overlaps(pane) {
                issues.append(
                    LayoutIssue(
                        path: elementPath, at: element.position,
                        found: "a pane over \(path)[\(other.index)] with the same z",
                        expected: "another z, or rectangles that do not overlap"))
            }
            for other in panes where other.pane.binding == pane.binding {
                // Several panes may ask for a role: each gets the next person who has it.
                if case .role = pane.binding { continue }
                issues.append(
                    LayoutIssue(
                        path: elementPath, at: element.position,
                        found: "the same person as in \(path)[\(other.index)]",
                        expected: "each user and each slot once"))
            }
            panes.append((index, pane))
        }
        return panes.map(\.pane)
    }

    private mutating func pane(_ node: JSONNode, _ path: String) -> PaneTemplate? {
        guard var reader = JSONObjectReader(node, path: path, issues: &issues) else { return nil }
        let binding = binding(&reader)
        let x = side("x", 0...1, &reader)
        let y = side("y", 0...1, &reader)
        let width = side("width", 0.02...1, &reader)
        let height = side("height", 0.02...1, &reader)
        let z = reader.integer("z", in: 0...100, issues: &issues) ?? 0
        let fit = reader.choice("fit", of: Pane.Fit.self, issues: &issues)
        reader.finish(issues: &issues)
        let isInside = [("x", x, "width", width), ("y", y, "height", height)].map { edge, start, side, length in
            guard let start, let length, start.millionths + length.millionths > UnitFraction.one else {
                return true
            }
            let sum = Double(start.millionths + length.millionths) / Double(UnitFraction.one)
            issues.append(
                LayoutIssue(
                    path: path, at: node.position, found: "\(edge) + \(side) = \(JSONNode.text(of: sum))",
                    expected: "at most 1, the canvas' edge"))
            return false
        }
        guard let binding, let x, let y, let width, let height, isInside.allSatisfy(\.self) else { return nil }
        return PaneTemplate(
            binding: binding, x: x, y: y, width: width, height: height, z: z, fit: fit)
    }

    private mutating func side(
        _ key: String, _ range: ClosedRange<Double>, _ reader: inout JSONObjectReader
    ) -> UnitFraction? {
        let low = JSONNode.text(of: range.lowerBound)
        guard reader.required(key, expected: "a number from \(low) to 1", issues: &issues) != nil else {
            return nil
        }
        return reader.fraction(key, in: range, issues: &issues)
    }

    private mutating func binding(_ reader: inout JSONObjectReader) -> PaneTemplate.Binding? {
        let slot = reader.integer("slot", in: 1...LayoutEngine.mostPanes, issues: &issues)
        let user = reader.text("user", issues: &issues)
        let role = reader.choice("role", of: LayoutParticipant.Role.self, issues: &issues)
        let given = ["slot", "user", "role"].filter(reader.has)
        guard given.count == 1 else {
            issues.append(
                LayoutIssue(
                    path: reader.path, at: reader.position,
                    found: given.isEmpty ? "a pane for nobody" : given.joined(separator: " and "),
                    expected: "exactly one of \"slot\", \"user\" and \"role\""))
            return nil
        }
        return slot.map { .slot($0) } ?? user.map { .user($0) } ?? role.map { .role($0) }
    }
}
