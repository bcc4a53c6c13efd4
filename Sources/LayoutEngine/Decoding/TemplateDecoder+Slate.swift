// MARK: - The slate
extension TemplateDecoder {
    /// Reads the message of the slate. Keys that are missing have the built-in message.
    mutating func slate(_ parent: inout JSONObjectReader) -> SlateTemplate {
        var slate = SlateTemplate()
        guard var reader = parent.object("slate", issues: &issues) else { return slate }
        if let title = reader.line("title", issues: &issues) { slate.title = title }
        if let subtitle = reader.line("subtitle", issues: &issues) { slate.subtitle = subtitle }
        if let font = reader.choice("font", of: Font.Family.self, issues: &issues) { slate.font = font }
        reader.finish(issues: &issues)
        return slate
    }
}
