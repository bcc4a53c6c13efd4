/// Turns a template and the people who are there into a scene.
public enum LayoutEngine {
    /// The most panes a scene has; people beyond it (hosts first, then as they joined) are heard but not seen.
    public static let mostPanes = 16

    /// The scene for these people on this canvas.
    ///
    /// Total and deterministic: any number of participants, any order of the array and any canvas give a scene whose
    /// panes lie inside the canvas on even pixels, and panes of equal `z` do not overlap. Participants without a
    /// picture get no pane, of two with the same `source` the first in slot order is shown, and on a canvas too small
    /// for another pane of 2×2 pixels the last people are left out.
    ///
    /// - Parameters:
    ///   - participants: Everybody in the room, in any order.
    ///   - canvas: The room's; fields that the template fixes replace it, and what is outside the limits of `Canvas` is
    ///     brought to the nearest that is inside.
    public static func plan(
        _ template: LayoutTemplate, participants: [LayoutParticipant], canvas: Canvas
    ) -> Scene {
        let canvas = template.canvas(over: canvas).withinLimits
        var seen: Set<String> = []
        let people = participants.filter(\.hasVideo).sorted(by: LayoutParticipant.precedes)
            .filter { seen.insert($0.source).inserted }
        guard !people.isEmpty else { return Scene(canvas: canvas, panes: []) }
        let arrangement =
            template.arrangements.first { $0.when.people.contains(people.count) }
            ?? LayoutLibrary.automaticArrangement(people: people.count)
        let shown = Array(people.prefix(mostPanes))
        return Scene(canvas: canvas, panes: panes(arrangement, shown, canvas))
    }

    private static func panes(
        _ arrangement: Arrangement, _ people: [LayoutParticipant], _ canvas: Canvas
    ) -> [Pane] {
        let frame = Frame(canvas, arrangement)
        let rectangles: [Rectangle]
        switch arrangement.placement {
        case .solo:
            rectangles = [frame.content]
        case .sideBySide:
            rectangles = frame.sideBySide(people.count)
        case .pictureInPicture(let corner, let size):
            let whole = Rectangle(x: 0, y: 0, width: canvas.width, height: canvas.height)
            return [Pane(people[0], whole, z: 0, arrangement.fit)]
                + zip(people.dropFirst(), frame.insets(people.count - 1, corner, size)).map {
                    Pane($0, $1, z: 1, arrangement.fit)
                }
        case .grid(let tileAspect):
            rectangles = frame.grid(people.count, tileAspect)
        case .panes(let templates):
            return explicitPanes(templates, people, canvas, arrangement.fit)
        }
        return zip(people, rectangles).map { Pane($0, $1, z: 0, arrangement.fit) }
    }

    private static func explicitPanes(
        _ templates: [PaneTemplate], _ people: [LayoutParticipant], _ canvas: Canvas, _ fit: Pane.Fit
    ) -> [Pane] {
        var waiting = people
        var chosen: [(template: PaneTemplate, person: LayoutParticipant)] = []
        func bind(_ template: PaneTemplate, where matches: (LayoutParticipant) -> Bool) {
            guard let index = waiting.firstIndex(where: matches) else { return }
            chosen.append((template, waiting.remove(at: index)))
        }
        for template in templates {
            if case .user(let user) = template.binding { bind(template) { $0.user == user } }
        }
        for template in templates {
            if case .role(let role) = template.binding { bind(template) { $0.role == role } }
        }
        let slots = templates.compactMap { template -> (number: Int, template: PaneTemplate)? in
            guard case .slot(let number) = template.binding else { return nil }
            return (number, template)
        }
        for slot in slots.sorted(by: { $0.number < $1.number }) { bind(slot.template) { _ in true } }

        return chosen.sorted {
            $0.template.z != $1.template.z
                ? $0.template.z < $1.template.z : LayoutParticipant.precedes($0.person, $1.person)
        }.compactMap { template, person in
            Rectangle(template, on: canvas).map { Pane(person, $0, z: template.z, template.fit ?? fit) }
        }
    }
}

extension Pane {
    fileprivate init(_ person: LayoutParticipant, _ rectangle: Rectangle, z: Int, _ fit: Fit) {
        self.init(
            source: person.source, user: person.user, x: rectangle.x, y: rectangle.y, width: rectangle.width,
            height: rectangle.height, z: z, fit: fit)
    }
}

extension Canvas {
    /// The nearest canvas that an encoder takes: even sides of 16…7680 pixels, 1…60 frames per second.
    public var withinLimits: Canvas {
        Canvas(
            width: min(max(width, 16), 7680) & ~1, height: min(max(height, 16), 7680) & ~1,
            fps: min(max(fps, 1), 60), background: background)
    }
}
