extension LayoutTemplate {
    /// The name of the built-in layout.
    static let automaticName = "auto"

    /// The built-in layout: one person alone, or several with their names, fill the canvas.
    ///
    /// It looks like the shipped layouts, with narrower margins and gaps. One person has nothing around them and no name, like
    /// a bypass.
    static let automatic: LayoutTemplate = {
        let label = PaneStyle.LabelStyle(
            size: UnitFraction(0.026), background: RGB(red: 0x0B, green: 0x0E, blue: 0x17),
            backgroundOpacity: UnitFraction(0.66), style: .pill, marksMuted: true)
        let shadow = PaneStyle.ShadowStyle(
            blur: UnitFraction(0.02), offset: UnitFraction(0.004), opacity: UnitFraction(0.5))
        let several = ArrangementSettings(
            style: PaneStyle(
                label: label, radius: UnitFraction(0.022), shadow: shadow, speaking: .ofSpeakers, card: .gradient),
            gap: UnitFraction(0.016), margin: UnitFraction(0.016), transition: Transition(duration: 300))
        var alone = several
        alone.margin = .zero
        alone.style.label = nil
        return LayoutTemplate(
            name: automaticName, summary: "Everybody, with names, on a full canvas.",
            canvas: CanvasOverride(background: Gradient.evening.from, gradient: .evening),
            arrangements: [
                Arrangement(when: .init(people: 0...1), placement: .algorithm(.solo), settings: alone),
                Arrangement(placement: .algorithm(.mosaic), settings: several),
            ], settings: several)
    }()

    static func automaticArrangement(people: Int) -> Arrangement {
        automatic.arrangements.first { $0.when.people.contains(people) } ?? Arrangement(placement: .algorithm(.solo))
    }
}

extension Gradient {
    /// The background of the built-in layout, and of a slate whose layout and room have none of their own.
    static let evening = Gradient(
        from: RGB(red: 0x24, green: 0x30, blue: 0x5E), to: RGB(red: 0x0B, green: 0x0E, blue: 0x17), angle: 150)
}

extension PaneStyle.BorderStyle {
    /// The border of who speaks, unless a layout says another.
    static let ofSpeakers = Self(width: UnitFraction(0.006), colour: RGB(red: 0x3D, green: 0xDC, blue: 0x84))
}
