import TextFormats

// MARK: - Settings shared by arrangements, panes and the rest
extension TemplateDecoder {
    /// Reads all settings except gap and margin, which do not exist everywhere.
    mutating func settings(_ reader: inout JSONObjectReader, over defaults: ArrangementSettings) -> ArrangementSettings
    {
        var settings = defaults
        settings.style = style(&reader, over: defaults.style) ?? defaults.style
        if let omits = reader.boolean("omitAudioOnly", issues: &issues) { settings.omitsAudioOnly = omits }
        if let transition = transition(&reader) { settings.transition = transition }
        if let sound = sound(&reader) { settings.sound = sound }
        if let overlays = overlays(&reader) { settings.overlays = overlays }
        return settings
    }

    mutating func lengths(_ reader: inout JSONObjectReader, into settings: inout ArrangementSettings) {
        if let gap = reader.fraction("gap", in: Self.lengths, issues: &issues) { settings.gap = gap }
        if let margin = reader.fraction("margin", in: Self.lengths, issues: &issues) { settings.margin = margin }
    }

    /// Reads the style of panes; `nil` if none of its keys is present.
    mutating func style(_ reader: inout JSONObjectReader, over defaults: PaneStyle) -> PaneStyle? {
        var style = defaults
        if let fit = reader.choice("fit", of: Pane.Fit.self, issues: &issues) { style.fit = fit }
        if let fit = reader.choice("screenFit", of: Pane.Fit.self, issues: &issues) { style.screenFit = fit }
        if let align = reader.choice("align", of: Pane.Alignment.self, issues: &issues) { style.align = align }
        if let opacity = reader.fraction("opacity", in: 0...1, issues: &issues) { style.opacity = opacity }
        border(&reader, &style)
        label(&reader, &style)
        fallback(&reader, &style)
        look(&reader, &style)
        let keys = [
            "fit", "align", "opacity", "border", "label", "fallback", "radius", "shadow", "speaking", "card",
            "surround", "screenFit",
        ]
        return keys.contains(where: reader.has) ? style : nil
    }

    private mutating func fallback(_ parent: inout JSONObjectReader, _ style: inout PaneStyle) {
        guard var reader = parent.object("fallback", issues: &issues) else { return }
        if let fallback = fallback("cameraOff", &reader) { style.fallback.cameraOff = fallback }
        if let fallback = fallback("absent", &reader) { style.fallback.absent = fallback }
        if let fallback = fallback("stalled", &reader) { style.fallback.stalled = fallback }
        if let seconds = reader.number("cardAfter", in: 0.5...60, issues: &issues) {
            style.fallback.cardAfter = Int((seconds * 1000).rounded())
        }
        if let seconds = reader.number("dropAfter", in: 1...3600, issues: &issues) {
            style.fallback.dropAfter = Int((seconds * 1000).rounded())
        }
        if let text = reader.line("reconnecting", issues: &issues) { style.fallback.reconnecting = text }
        reader.finish(issues: &issues)
    }

    private enum FallbackWord: String, CaseIterable {
        case lastFrame = "last-frame"
        case card, nothing
    }

    private mutating func fallback(_ key: String, _ parent: inout JSONObjectReader) -> Pane.Fallback? {
        guard let node = parent.optional(key) else { return nil }
        let words = FallbackWord.allCases.map(\.rawValue)
        let expected = "\(JSONPath.list(words)), or {\"image\": …}"
        switch node.value {
        case .string(let text):
            switch FallbackWord(rawValue: text) {
            case .lastFrame: return .lastFrame
            case .card: return .card
            case .nothing: return .nothing
            case nil:
                issues.append(
                    LayoutIssue(
                        node, parent.path(of: key), expected: expected,
                        suggestion: Spelling.nearest(to: text, in: words).map(JSONNode.quoted)))
                return nil
            }
        case .object:
            guard var reader = JSONObjectReader(node, path: parent.path(of: key), issues: &issues) else { return nil }
            let isThere = reader.required("image", expected: JSONObjectReader.imageReference) != nil
            let image = isThere ? reader.image("image", issues: &issues) : nil
            reader.finish(issues: &issues)
            return image.map { .image($0) }
        default:
            issues.append(LayoutIssue(node, parent.path(of: key), expected: expected))
            return nil
        }
    }

    private mutating func transition(_ parent: inout JSONObjectReader) -> Transition? {
        guard let node = parent.optional("transition") else { return nil }
        let path = parent.path(of: "transition")
        if case .string(let word) = node.value {
            if word == "cut" { return .cut }
            issues.append(
                LayoutIssue(
                    node, path, expected: "\"cut\", or {\"duration\": …, \"easing\": …}",
                    suggestion: Spelling.nearest(to: word, in: ["cut"]).map(JSONNode.quoted)))
            return nil
        }
        guard case .object = node.value else {
            issues.append(LayoutIssue(node, path, expected: "\"cut\", or {\"duration\": …, \"easing\": …}"))
            return nil
        }
        guard var reader = JSONObjectReader(node, path: path, issues: &issues) else { return nil }
        let isTimed =
            reader.required("duration", expected: "milliseconds, a whole number from 0 to 5000") != nil
        let duration = isTimed ? reader.integer("duration", in: 0...5000, issues: &issues) : nil
        let easing = reader.choice("easing", of: Transition.Easing.self, issues: &issues)
        reader.finish(issues: &issues)
        return duration.map { Transition(duration: $0, easing: easing ?? .easeInOut) }
    }
}

// MARK: - Sound
extension TemplateDecoder {
    private static let mostGains = 64

    private mutating func sound(_ parent: inout JSONObjectReader) -> SoundTemplate? {
        guard var reader = parent.object("audio", issues: &issues) else { return nil }
        var sound = SoundTemplate()
        sound.loudest = reader.integer("loudest", in: 1...LayoutLimits.mostPanes, issues: &issues)
        let elements = reader.array("gains", of: "gains", atMost: Self.mostGains, issues: &issues)
        for (index, element) in elements.enumerated() {
            let path = "\(reader.path(of: "gains"))[\(index)]"
            if let gain = gain(element, path) { sound.gains.append(gain) }
        }
        reader.finish(issues: &issues)
        return sound
    }

    private mutating func gain(_ node: JSONNode, _ path: String) -> SoundTemplate.Gain? {
        guard var reader = JSONObjectReader(node, path: path, issues: &issues) else { return nil }
        let selector = selector(&reader)
        let factor = reader.number("gain", in: 0...4, issues: &issues)
        let isMuted = reader.boolean("mute", issues: &issues)
        reader.finish(issues: &issues)
        guard reader.has("gain") != reader.has("mute") else {
            issues.append(
                LayoutIssue(
                    path: path, at: node.position,
                    found: reader.has("gain") ? "gain and mute" : "neither gain nor mute",
                    expected: "exactly one of \"gain\" and \"mute\""))
            return nil
        }
        let percent = isMuted.map { $0 ? 0 : 100 } ?? factor.map { Int(($0 * 100).rounded()) }
        guard let selector, let percent else { return nil }
        return SoundTemplate.Gain(of: selector, percent: percent)
    }
}
