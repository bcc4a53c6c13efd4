import LayoutEngine
import TestSupport

/// Random templates with anything that a file may contain, and random crowds.
extension SeededGenerator {
    mutating func chance(_ part: Int, of whole: Int) -> Bool { Int.random(in: 1...whole, using: &self) <= part }

    mutating func one<Choice: CaseIterable>(of _: Choice.Type) -> Choice {
        guard let choice = Choice.allCases.randomElement(using: &self) else { fatalError("no cases") }
        return choice
    }

    mutating func fraction(_ range: ClosedRange<Double> = 0...1) -> UnitFraction {
        UnitFraction(.random(in: range, using: &self))
    }

    mutating func colour() -> RGB {
        RGB(
            red: .random(in: 0...255, using: &self), green: .random(in: 0...255, using: &self),
            blue: .random(in: 0...255, using: &self))
    }

    mutating func canvas() -> Canvas {
        Canvas(
            width: .random(in: -10...(chance(1, of: 2) ? 60 : 9000), using: &self),
            height: .random(in: -10...2000, using: &self), fps: .random(in: -1...90, using: &self))
    }

    mutating func template() -> LayoutTemplate {
        LayoutTemplate(
            name: "random",
            canvas: CanvasOverride(
                backdrop: chance(1, of: 4) ? .init(image: "b.png", fit: one(of: Pane.Fit.self)) : nil),
            arrangements: (0..<Int.random(in: 0...3, using: &self)).map { _ in
                let settings = settings()
                return Arrangement(when: condition(), placement: placement(settings), settings: settings)
            }, settings: settings())
    }

    private mutating func range() -> ClosedRange<Int> {
        guard chance(1, of: 4) else { return Condition.any }
        let low = Int.random(in: 0...4, using: &self)
        return low...(chance(1, of: 3) ? Int.max : low + .random(in: 0...4, using: &self))
    }

    mutating func condition() -> Condition {
        Condition(
            people: range(), hosts: range(), guests: range(), audioOnly: range(),
            screen: chance(1, of: 6) ? chance(1, of: 2) : nil,
            canvas: chance(1, of: 6) ? one(of: Orientation.self) : nil,
            sources: chance(1, of: 6) ? one(of: Condition.SourceShape.self) : nil)
    }

    mutating func placement(_ settings: ArrangementSettings) -> Arrangement.Placement {
        guard chance(1, of: 3) else { return .algorithm(algorithm(), featured: chance(1, of: 3) ? selector() : nil) }
        let rest = Arrangement.Rest(
            area: Area(x: .zero, y: UnitFraction(0.6), width: .whole, height: fraction(0...0.4)),
            z: chance(1, of: 2) ? 0 : 7, algorithm: algorithm(), featured: chance(1, of: 3) ? selector() : nil,
            settings: settings)
        return .panes(panes(), rest: chance(1, of: 2) ? rest : nil)
    }

    /// Returns columns above 0.6, so that none overlap, and sometimes a pane on a higher level across all of them.
    private mutating func panes() -> [PaneTemplate] {
        var edges = (0...5).map { _ in Double.random(in: 0...1, using: &self) }.sorted()
        edges[0] = 0
        var panes = (0..<5).map { index in
            let start = UnitFraction(edges[index])
            let width = UnitFraction(edges[index + 1]).millionths - start.millionths
            return PaneTemplate(
                binding: binding(slot: index + 1),
                stream: chance(1, of: 3) ? one(of: LayoutParticipant.Kind.self) : nil,
                area: Area(
                    x: start, y: .zero, width: UnitFraction(Double(width) / 1_000_000), height: fraction(0...0.6)),
                style: chance(1, of: 3) ? style() : nil)
        }
        let quarter = UnitFraction(0.25)
        panes.append(
            PaneTemplate(
                binding: .role(.host),
                area: Area(x: quarter, y: quarter, width: UnitFraction(0.5), height: UnitFraction(0.5)),
                z: 3))
        return panes
    }

    private mutating func binding(slot: Int) -> PaneTemplate.Binding {
        switch Int.random(in: 0...3, using: &self) {
        case 0: .user("u\(Int.random(in: 0...24, using: &self))")
        case 1: .role(one(of: LayoutParticipant.Role.self))
        case 2: .anybody
        default: .slot(slot)
        }
    }

    mutating func selector() -> StreamSelector {
        StreamSelector(
            user: chance(1, of: 4) ? "u\(Int.random(in: 0...24, using: &self))" : nil,
            role: chance(1, of: 3) ? one(of: LayoutParticipant.Role.self) : nil,
            stream: chance(1, of: 3) ? one(of: LayoutParticipant.Kind.self) : nil)
    }

    private mutating func fallback() -> Pane.Fallback {
        [.lastFrame, .card, .nothing, .image("f.png")].randomElement(using: &self) ?? .card
    }

    mutating func style() -> PaneStyle {
        PaneStyle(
            fit: one(of: Pane.Fit.self), align: one(of: Pane.Alignment.self), opacity: fraction(),
            border: chance(1, of: 2) ? .init(width: fraction(0...0.05), colour: colour()) : nil,
            label: chance(1, of: 2)
                ? .init(
                    edge: one(of: Label.Edge.self), side: one(of: Label.Side.self), size: fraction(0.01...0.2),
                    colour: colour(), background: colour(), backgroundOpacity: fraction()) : nil,
            fallback: .init(cameraOff: fallback(), absent: fallback(), stalled: fallback()))
    }

    mutating func settings() -> ArrangementSettings {
        ArrangementSettings(
            style: style(), gap: fraction(0...0.25), margin: fraction(0...0.25), omitsAudioOnly: chance(1, of: 2),
            transition: Transition(
                duration: .random(in: 0...5000, using: &self), easing: one(of: Transition.Easing.self)),
            sound: SoundTemplate(
                loudest: chance(1, of: 2) ? .random(in: 1...16, using: &self) : nil,
                gains: (0..<Int.random(in: 0...3, using: &self)).map { _ in
                    SoundTemplate.Gain(of: selector(), percent: .random(in: 0...400, using: &self))
                }),
            overlays: (0..<Int.random(in: 0...8, using: &self)).map { overlay("overlay-\($0)") })
    }

    private mutating func overlay(_ id: String) -> OverlayTemplate {
        let start = fraction()
        let area = Area(x: start, y: .zero, width: fraction(0...(1 - start.value)), height: fraction())
        let style = OverlayTemplate.Style(
            size: fraction(0.01...0.2), colour: colour(), isBold: chance(1, of: 2), align: one(of: Pane.Alignment.self),
            background: chance(1, of: 2) ? colour() : nil, backgroundOpacity: fraction())
        let content: OverlayTemplate.Content =
            switch Int.random(in: 0...2, using: &self) {
            case 0: .image("o.png", align: one(of: Pane.Alignment.self), size: fraction())
            case 1: .text(["Live", "", "長い文字", "é\u{301}W"].randomElement(using: &self) ?? "", style)
            default:
                .clock(one(of: Overlay.ClockFormat.self), utcOffset: .random(in: -840...840, using: &self), style)
            }
        return OverlayTemplate(
            id: id,
            place: chance(1, of: 2)
                ? .area(area) : .at(one(of: Pane.Alignment.self), margin: fraction(0...0.25)),
            opacity: fraction(), content: content)
    }

    /// Returns up to 24 streams. Sometimes a source is repeated, as by a mistake of the caller.
    mutating func crowd() -> [LayoutParticipant] {
        (0..<Int.random(in: 0...24, using: &self)).map { index in
            let user = chance(1, of: 4) ? "u\(Int.random(in: 0...5, using: &self))" : "u\(index)"
            let kind = chance(2, of: 3) ? LayoutParticipant.Kind.camera : one(of: LayoutParticipant.Kind.self)
            return LayoutParticipant(
                source: "\(user)/\(kind)\(chance(1, of: 4) ? index : 0)", user: user,
                name: chance(1, of: 2) ? "Name \(index)" : nil, role: chance(1, of: 6) ? .host : .guest, kind: kind,
                joinOrder: .random(in: 0...8, using: &self), hasVideo: kind != .audio && chance(8, of: 10),
                hasAudio: chance(8, of: 10),
                pictureSize: chance(1, of: 2)
                    ? nil
                    : .init(width: .random(in: 1...2000, using: &self), height: .random(in: 1...2000, using: &self)))
        }
    }
}
