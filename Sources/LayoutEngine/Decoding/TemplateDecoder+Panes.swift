import TextFormats

// MARK: - Explicit panes
extension TemplateDecoder {
    mutating func panes(
        _ parent: inout JSONObjectReader, _ settings: ArrangementSettings
    ) -> Arrangement.Placement {
        let path = parent.path(of: "panes")
        var panes: [(name: String, pane: PaneTemplate)] = []
        if let node = parent.optional("panes") {
            if case .array(let elements) = node.value, 1...LayoutLimits.mostPanes ~= elements.count {
                for (index, element) in elements.enumerated() {
                    let elementPath = "\(path)[\(index)]"
                    guard let pane = pane(element, elementPath, settings.style) else { continue }
                    noteConflicts(pane, elementPath, element, with: panes)
                    panes.append((elementPath, pane))
                }
            } else {
                issues.append(
                    LayoutIssue(node, path, expected: "an array of 1 to \(LayoutLimits.mostPanes) panes"))
            }
        }
        return .panes(panes.map(\.pane), rest: rest(&parent, settings, panes))
    }

    private mutating func noteConflicts(
        _ pane: PaneTemplate, _ path: String, _ node: JSONNode, with others: [(name: String, pane: PaneTemplate)]
    ) {
        for other in others where other.pane.z == pane.z && other.pane.area.overlaps(pane.area) {
            noteOverlap(path, node, with: other.name)
        }
        for other in others where other.pane.binding == pane.binding {
            switch pane.binding {
            // Several panes may name the same role or kind: each gets the next stream.
            case .role, .anybody: continue
            // A user has several streams.
            case .user where other.pane.stream != pane.stream: continue
            case .user, .slot: break
            }
            issues.append(
                LayoutIssue(
                    path: path, at: node.position, found: "the same person as in \(other.name)",
                    expected: "each user and each slot once"))
        }
    }

    private mutating func noteOverlap(_ path: String, _ node: JSONNode, with other: String) {
        issues.append(
            LayoutIssue(
                path: path, at: node.position, found: "a pane that overlaps \(other) at the same z",
                expected: "another z, or rectangles that do not overlap"))
    }

    private mutating func pane(_ node: JSONNode, _ path: String, _ defaults: PaneStyle) -> PaneTemplate? {
        guard var reader = JSONObjectReader(node, path: path, issues: &issues) else { return nil }
        let binding = binding(&reader)
        let area = area(&reader)
        let z = reader.integer("z", in: 0...100, issues: &issues) ?? 0
        let style = style(&reader, over: defaults)
        let isVisible = reader.boolean("visible", issues: &issues) ?? true
        reader.finish(issues: &issues)
        guard let binding, let area, isVisible else { return nil }
        return PaneTemplate(binding: binding.person, stream: binding.stream, area: area, z: z, style: style)
    }

    private mutating func binding(
        _ reader: inout JSONObjectReader
    ) -> (person: PaneTemplate.Binding, stream: LayoutParticipant.Kind?)? {
        let slot = reader.integer("slot", in: 1...LayoutLimits.mostPanes, issues: &issues)
        let user = reader.text("user", issues: &issues)
        let role = reader.choice("role", of: LayoutParticipant.Role.self, issues: &issues)
        let stream = reader.choice("stream", of: LayoutParticipant.Kind.self, issues: &issues)
        let given = ["slot", "user", "role"].filter(reader.has)
        guard given.count == 1 || given.isEmpty && reader.has("stream") else {
            issues.append(
                LayoutIssue(
                    path: reader.path, at: reader.position,
                    found: given.isEmpty ? "a pane without a participant" : given.joined(separator: " and "),
                    expected: "exactly one of \"slot\", \"user\" and \"role\", or \"stream\""))
            return nil
        }
        guard let first = given.first else { return stream.map { (.anybody, $0) } }
        // An invalid kind has already been reported, and the pane is useless without it.
        if reader.has("stream"), stream == nil { return nil }
        let person: PaneTemplate.Binding? =
            switch first {
            case "slot": slot.map { .slot($0) }
            case "user": user.map { .user($0) }
            default: role.map { .role($0) }
            }
        return person.map { ($0, stream) }
    }

    private mutating func rest(
        _ parent: inout JSONObjectReader, _ settings: ArrangementSettings,
        _ panes: [(name: String, pane: PaneTemplate)]
    ) -> Arrangement.Rest? {
        guard let node = parent.optional("rest"),
            var reader = JSONObjectReader(node, path: parent.path(of: "rest"), issues: &issues)
        else { return nil }
        let area = area(&reader)
        let z = reader.integer("z", in: 0...99, issues: &issues) ?? 0
        var own = settings
        // The canvas' margin surrounds the panes; there is none between the explicit panes and the rest.
        own.margin = .zero
        if let style = style(&reader, over: settings.style) { own.style = style }
        lengths(&reader, into: &own)
        let algorithm = algorithm(&reader, orPanes: false)
        reader.finish(issues: &issues)
        guard let area, let algorithm else { return nil }
        let heights = z..<z + algorithm.algorithm.levels
        for pane in panes where heights.contains(pane.pane.z) && pane.pane.area.overlaps(area) {
            noteOverlap(reader.path, node, with: pane.name)
        }
        return Arrangement.Rest(
            area: area, z: z, algorithm: algorithm.algorithm, featured: algorithm.featured, settings: own)
    }
}

// MARK: - Rectangles
extension TemplateDecoder {
    /// Reads `x`, `y`, `width` and `height`. Returns `nil` only after adding an issue.
    mutating func area(_ reader: inout JSONObjectReader) -> Area? {
        let across = extent("x", "width", of: \.width, &reader)
        let down = extent("y", "height", of: \.height, &reader)
        guard let across, let down else { return nil }
        return Area(x: across.start, y: down.start, width: across.length, height: down.length)
    }

    private mutating func extent(
        _ startKey: String, _ lengthKey: String, of side: KeyPath<(width: Int, height: Int), Int>,
        _ reader: inout JSONObjectReader
    ) -> (start: UnitFraction, length: UnitFraction)? {
        let pixels = pixels.map { $0[keyPath: side] }
        let start = length(startKey, atLeast: 0, of: pixels, &reader)
        let length = length(lengthKey, atLeast: 0.02, of: pixels, &reader)
        guard let start, let length else { return nil }
        // Pixels are added before they are converted: a sum of rounded shares would miss the edge where the next pane
        // begins.
        let end: Int
        if let first = start.pixels, let second = length.pixels, let pixels {
            end = Self.millionths(first + second, of: pixels)
        } else {
            end = start.millionths + length.millionths
        }
        // The sum of a share and of pixels may be rounded beyond the edge.
        guard end <= UnitFraction.one || end == UnitFraction.one + 1 && start.isPixels != length.isPixels else {
            let (found, limit) =
                if let first = start.pixels, let second = length.pixels, let pixels {
                    ("\(first + second)px", "\(pixels)px")
                } else {
                    (JSONNode.text(of: Double(end) / Double(UnitFraction.one)), "1")
                }
            issues.append(
                LayoutIssue(
                    path: reader.path, at: reader.position, found: "\(startKey) + \(lengthKey) = \(found)",
                    expected: "at most \(limit), the edge of the canvas"))
            return nil
        }
        return (
            UnitFraction(millionths: start.millionths),
            UnitFraction(millionths: min(end, UnitFraction.one) - start.millionths)
        )
    }

    private struct Length {
        var millionths: Int
        /// The length in pixels, if the file gives it in pixels.
        var pixels: Int?
        var isPixels: Bool { pixels != nil }
    }

    private mutating func length(
        _ key: String, atLeast least: Double, of side: Int?, _ reader: inout JSONObjectReader
    ) -> Length? {
        let shares = "a number from \(JSONNode.text(of: least)) to 1"
        let expected = side.map { "\(shares), or even pixels up to \"\($0)px\"" } ?? shares
        guard let node = reader.required(key, expected: expected) else { return nil }
        switch node.value {
        case .number(let number) where (least...1).contains(number):
            return Length(millionths: UnitFraction(number).millionths)
        case .string(let text) where text.hasSuffix("px"):
            guard let side else {
                issues.append(
                    LayoutIssue(
                        node, reader.path(of: key),
                        expected: "\(shares); pixels need a canvas with width and height in the file"))
                return nil
            }
            let smallest = least > 0 ? 2 : 0
            if text.utf8.count <= 6, let pixels = Int(text.dropLast(2)), smallest...side ~= pixels,
                pixels.isMultiple(of: 2), text.first?.isNumber == true
            {
                return Length(millionths: Self.millionths(pixels, of: side), pixels: pixels)
            }
            issues.append(LayoutIssue(node, reader.path(of: key), expected: expected))
            return nil
        default:
            issues.append(LayoutIssue(node, reader.path(of: key), expected: expected))
            return nil
        }
    }

    /// Returns the nearest share in millionths. On a canvas of this size it gives the same pixels back.
    private static func millionths(_ pixels: Int, of side: Int) -> Int {
        (pixels * UnitFraction.one * 2 + side) / (2 * side)
    }
}
