/// Turns a template and the participants of a room into a scene.
public enum LayoutEngine {
    /// Maximum number of panes in a scene: `LayoutLimits.mostPanes`.
    public static let mostPanes = LayoutLimits.mostPanes

    /// Returns the scene for these participants on this canvas.
    ///
    /// The function is total and deterministic. Any number of participants, any order of the array and any canvas give
    /// a scene whose panes lie inside the canvas on even pixels, and panes of equal `z` do not overlap. People without
    /// a picture get a pane with their card unless the template omits them. Of two participants with the same `source`
    /// the first is shown. On a canvas too small for another pane of 2×2 pixels the last people are left out.
    ///
    /// - Parameters:
    ///   - participants: All streams in the room, in any order.
    ///   - canvas: The room's canvas. Fields that the template fixes replace it, and values outside the limits of
    ///     `Canvas` become the nearest limit.
    ///   - names: Display names of users who currently have no stream. `LayoutParticipant.name` takes precedence.
    ///   - values: Values of the program for the template's texts. Its parameters are changed by `applying(_:)`.
    public static func plan(
        _ template: LayoutTemplate, participants: [LayoutParticipant], canvas: Canvas, names: [String: String] = [:],
        values: LayoutValues = LayoutValues()
    ) -> Scene {
        let ground = template.ground(over: canvas)
        let canvas = template.canvas(over: canvas).withinLimits
        let roster = Roster(participants)
        let arrangement = arrangement(of: template, for: roster, on: canvas)
        let settings = arrangement.settings
        let people = roster.people(omittingAudioOnly: settings.omitsAudioOnly)
        let stage = Stage(canvas: canvas, names: names)
        // Few layouts have names in their texts, and plans are frequent.
        lazy var texts = TextValues(values, of: template, people: people, names: names)
        let panes: [Pane] =
            switch arrangement.placement {
            case .algorithm(let algorithm, let featured):
                stage.panes(
                    people.prefix(featured, first: LayoutLimits.mostPanes), by: algorithm, in: Rectangle(canvas), z: 0,
                    settings)
            case .panes(let templates, let rest):
                stage.panes(templates, rest: rest, roster: roster, people: people, settings)
            }
        return Scene(
            canvas: canvas, background: ground, panes: panes,
            overlays: settings.overlays.fromBackToFront.compactMap {
                ($0.hasNames ? $0.filling(texts) : $0)?.overlay(on: canvas)
            },
            sound: settings.sound.sound(of: roster.all), transition: settings.transition)
    }

    private static func arrangement(of template: LayoutTemplate, for roster: Roster, on canvas: Canvas) -> Arrangement {
        var situations: [Situation?] = [nil, nil]
        func situation(omittingAudioOnly: Bool) -> Situation {
            let index = omittingAudioOnly ? 1 : 0
            if let known = situations[index] { return known }
            let situation = roster.situation(on: canvas, omittingAudioOnly: omittingAudioOnly)
            situations[index] = situation
            return situation
        }
        let first = template.arrangements.first {
            $0.when.holds(in: situation(omittingAudioOnly: $0.settings.omitsAudioOnly))
        }
        if let first { return first }
        var automatic = LayoutTemplate.automaticArrangement(
            people: situation(omittingAudioOnly: template.settings.omitsAudioOnly).people)
        automatic.settings = template.settings
        return automatic
    }
}

extension Canvas {
    /// The nearest canvas that an encoder accepts: even sides of 16…7680 pixels, 1…60 frames per second.
    public var withinLimits: Canvas {
        Canvas(
            width: min(max(width, 16), 7680) & ~1, height: min(max(height, 16), 7680) & ~1,
            fps: min(max(fps, 1), 60), background: background)
    }
}
