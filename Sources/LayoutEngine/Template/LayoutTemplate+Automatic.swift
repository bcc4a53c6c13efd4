extension LayoutTemplate {
    /// The name of the built-in layout.
    static let automaticName = "auto"

    /// The built-in layout: one person alone, or several with their names, fill the canvas. A shared screen is shown whole and
    /// large, the others below or beside it.
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
                label: label, radius: UnitFraction(0.022), shadow: shadow, speaking: .ofSpeakers, card: .gradient,
                screenFit: .contain),
            gap: UnitFraction(0.016), margin: UnitFraction(0.016), transition: Transition(duration: 300))
        var alone = several
        alone.margin = .zero
        alone.style.label = nil
        return LayoutTemplate(
            name: automaticName,
            summary: "Everybody, with names, on a full canvas; a shared screen is whole and large.",
            canvas: CanvasOverride(background: Gradient.evening.from, gradient: .evening),
            arrangements: [
                Arrangement(when: .init(people: 0...1), placement: .algorithm(.solo), settings: alone),
                sharing(
                    on: .landscape, screen: area(0.009, 0.016, 0.775, 0.968), others: area(0.793, 0.016, 0.198, 0.968),
                    by: .grid(tileAspect: .fourToThree), several),
                sharing(
                    on: .portrait, screen: area(0.016, 0.009, 0.968, 0.5), others: area(0.016, 0.518, 0.968, 0.473),
                    by: .grid(tileAspect: nil), several),
                sharing(
                    on: nil, screen: area(0.016, 0.016, 0.968, 0.6), others: area(0.016, 0.632, 0.968, 0.352),
                    by: .grid(tileAspect: nil), several),
                Arrangement(placement: .algorithm(.mosaic), settings: several),
            ], settings: several)
    }()

    /// Returns the arrangement with a screen in one part of the canvas, and everybody else in another.
    ///
    /// The screen has no name and no ring, which would hide its edges.
    private static func sharing(
        on canvas: Orientation?, screen: Area, others: Area, by algorithm: Algorithm, _ settings: ArrangementSettings
    ) -> Arrangement {
        var (large, beside, own) = (settings.style, settings, settings)
        large.label = nil
        large.speaking = nil
        beside.margin = .zero
        own.gap = .zero
        own.margin = .zero
        return Arrangement(
            when: Condition(screen: true, canvas: canvas),
            placement: .panes(
                [PaneTemplate(binding: .anybody, stream: .screen, area: screen, style: large)],
                rest: Arrangement.Rest(area: others, algorithm: algorithm, settings: beside)),
            settings: own)
    }

    private static func area(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> Area {
        Area(x: UnitFraction(x), y: UnitFraction(y), width: UnitFraction(width), height: UnitFraction(height))
    }

    /// Returns the arrangement for people whom no arrangement of another layout places. Shared screens are people there, as in
    /// the algorithms of that layout.
    static func automaticArrangement(people: Int) -> Arrangement {
        automatic.arrangements.first { $0.when.screen == nil && $0.when.people.contains(people) }
            ?? Arrangement(placement: .algorithm(.solo))
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
