extension LayoutTemplate {
    /// The name of the built-in layout.
    static let automaticName = "auto"

    /// The built-in layout: one person, or several with their names, fill the canvas.
    static let automatic = LayoutTemplate(
        name: automaticName, summary: "Everybody, with names, on a full canvas.",
        arrangements: [
            Arrangement(when: .init(people: 0...1), placement: .algorithm(.solo)),
            Arrangement(
                placement: .algorithm(.mosaic),
                settings: ArrangementSettings(
                    style: PaneStyle(label: PaneStyle.LabelStyle()), gap: UnitFraction(0.01))),
        ])

    static func automaticArrangement(people: Int) -> Arrangement {
        automatic.arrangements.first { $0.when.people.contains(people) } ?? Arrangement(placement: .algorithm(.solo))
    }
}
