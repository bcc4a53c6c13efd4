extension LayoutTemplate {
    /// The name of the built-in layout.
    static let automaticName = "auto"

    /// The built-in layout: one person fills the canvas, two are side by side, three or more form a grid.
    static let automatic = LayoutTemplate(
        name: automaticName, summary: "Solo, side by side, grid: by the number of people.",
        arrangements: [
            Arrangement(when: .init(people: 0...1), placement: .algorithm(.solo)),
            Arrangement(when: .init(people: 2...2), placement: .algorithm(.sideBySide)),
            Arrangement(placement: .algorithm(.grid(tileAspect: nil))),
        ])

    static func automaticArrangement(people: Int) -> Arrangement {
        automatic.arrangements.first { $0.when.people.contains(people) } ?? Arrangement(placement: .algorithm(.solo))
    }
}
