import TextFormats

/// Reads the parts of a template.
///
/// An invalid part adds an issue and yields a harmless value, so that the rest of the file is checked too.
struct TemplateDecoder {
    var issues: [LayoutIssue] = []
    /// Width and height of the canvas in pixels if the file fixes both; lengths in pixels are converted with them.
    var pixels: (width: Int, height: Int)?

    /// The names that texts may contain in braces; empty in a file without parameters.
    var names: Set<String> = []
    /// Positions of `{ "param": … }` with an unknown parameter, which have been reported.
    var unknown: [JSONPosition] = []

    static let mostArrangements = 32
    static let lengths = 0...0.25

    var orientation: Orientation? {
        pixels.map { Orientation(width: $0.width, height: $0.height) }
    }

    /// Reads a template. Returns `nil` only after adding an issue.
    ///
    /// - Parameter values: Values of parameters; allowed ones replace their defaults.
    mutating func template(
        _ root: JSONNode, name: String, values: [String: LayoutParameter.Value] = [:]
    ) -> LayoutTemplate? {
        let parameters = parameters(root)
        let node = prepared(root, parameters, values)
        guard var reader = JSONObjectReader(node, path: "$", issues: &issues) else { return nil }
        _ = reader.optional("$schema")
        _ = reader.optional("params")
        let summary = reader.text("description", issues: &issues)
        let canvas = canvas(&reader)
        if let width = canvas.width, let height = canvas.height { pixels = (width, height) }
        var settings = settings(&reader, over: ArrangementSettings())
        lengths(&reader, into: &settings)
        let slate = slate(&reader)
        var arrangements: [Arrangement] = []
        let expected = "an array of 1 to \(Self.mostArrangements) arrangements"
        if let node = reader.required("arrangements", expected: expected) {
            if case .array(let elements) = node.value, 1...Self.mostArrangements ~= elements.count {
                for (index, element) in elements.enumerated() {
                    let path = "$.arrangements[\(index)]"
                    guard let arrangement = arrangement(element, path, settings) else { continue }
                    noteUnreachable(arrangement, after: arrangements, element, path)
                    arrangements.append(arrangement)
                }
            } else {
                issues.append(LayoutIssue(node, "$.arrangements", expected: expected))
            }
        }
        reader.finish(issues: &issues)
        issues.removeAll { issue in unknown.contains { $0.line == issue.line && $0.column == issue.column } }
        return LayoutTemplate(
            name: name, summary: summary, canvas: canvas, arrangements: arrangements, settings: settings,
            parameters: parameters, slate: slate)
    }

    private mutating func canvas(_ parent: inout JSONObjectReader) -> CanvasOverride {
        guard var reader = parent.object("canvas", issues: &issues) else { return CanvasOverride() }
        var canvas = CanvasOverride(
            width: reader.integer("width", in: 16...7680, multipleOf: 2, issues: &issues),
            height: reader.integer("height", in: 16...7680, multipleOf: 2, issues: &issues),
            fps: reader.integer("fps", in: 1...60, issues: &issues))
        background(&reader, &canvas)
        let image = reader.optionalImage("image", issues: &issues)
        let fit = reader.choice("imageFit", of: Pane.Fit.self, issues: &issues)
        if let image { canvas.backdrop = Scene.Backdrop(image: image, fit: fit ?? .cover) }
        backdrop(&reader, &canvas)
        for key in ["imageFit", "backdrop"] where reader.has(key) && !reader.has("image") {
            issues.append(
                LayoutIssue(
                    path: reader.path(of: key), at: reader.position(of: key), found: "\"\(key)\" without an image",
                    expected: "\"image\" as well"))
        }
        reader.finish(issues: &issues)
        return canvas
    }

    private mutating func arrangement(
        _ node: JSONNode, _ path: String, _ defaults: ArrangementSettings
    ) -> Arrangement? {
        guard var reader = JSONObjectReader(node, path: path, issues: &issues) else { return nil }
        let condition = condition(&reader)
        var settings = settings(&reader, over: defaults)
        let placement: Arrangement.Placement?
        if reader.has("panes"), !reader.has("algorithm") {
            let inherited = settings
            // Gaps and margins apply only to panes that an algorithm places.
            (settings.gap, settings.margin) = (.zero, .zero)
            placement = panes(&reader, inherited)
        } else {
            lengths(&reader, into: &settings)
            notePanesBesideAlgorithm(&reader)
            let algorithm = algorithm(&reader, orPanes: true)
            placement = algorithm.map { .algorithm($0.algorithm, featured: $0.featured) }
        }
        reader.finish(issues: &issues)
        noteContradiction(condition, settings, reader)
        return placement.map { Arrangement(when: condition, placement: $0, settings: settings) }
    }

    private mutating func notePanesBesideAlgorithm(_ reader: inout JSONObjectReader) {
        for key in ["panes", "rest"] where reader.has(key) {
            guard let node = reader.optional(key), reader.has("algorithm") else { continue }
            issues.append(
                LayoutIssue(
                    path: reader.path(of: key), at: node.position, found: "\(key) together with an algorithm",
                    expected: key == "panes" ? "one of the two" : "\"rest\" only with \"panes\""))
        }
    }

    /// Adds an issue if the condition can never hold.
    private mutating func noteContradiction(
        _ condition: Condition, _ settings: ArrangementSettings, _ reader: JSONObjectReader
    ) {
        let found = condition.contradiction(omitsAudioOnly: settings.omitsAudioOnly, canvas: orientation)
        guard let found else { return }
        issues.append(
            LayoutIssue(
                path: reader.path(of: "when"), at: reader.position(of: "when"), found: found,
                expected: "a condition that can be met"))
    }

    /// Adds an issue if the arrangements before this one cover every situation: the order in the file is wrong.
    private mutating func noteUnreachable(
        _ arrangement: Arrangement, after earlier: [Arrangement], _ node: JSONNode, _ path: String
    ) {
        let isTaken = arrangement.when.isCovered(
            by: earlier, omitsAudioOnly: arrangement.settings.omitsAudioOnly, canvas: orientation)
        guard isTaken else { return }
        issues.append(
            LayoutIssue(
                path: path, at: node.position, found: "an arrangement that is never used: earlier ones always match",
                expected: "a condition that the earlier ones do not cover"))
    }
}
