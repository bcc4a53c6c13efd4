import LayoutEngine

extension ProgramPlanner.Program {
    /// Plays the room's idle media if no participant can be shown: the room is empty, or has only streams that do not
    /// arrive.
    ///
    /// These streams stay planned, so that they are pulled. The mode is that of an empty room, because relays of
    /// earlier releases know it; they show the empty pane.
    mutating func playIdleMedia(of room: Room, in context: PlanningContext) {
        guard let settings = room.settings.idle else { return }
        let areAllAbsent = !sources.isEmpty && sources.allSatisfy { context.absent.contains($0.id) }
        guard mode == .slate || areAllAbsent else { return }
        let items = settings.media.compactMap { reference in
            context.media[reference].map { IdlePlan.Item(name: IdleSettings.name(of: reference), path: $0) }
        }
        guard !items.isEmpty else { return }
        mode = .slate
        idle = IdlePlan(items: items, loops: settings.loop)
        scene = Scene(idleOn: scene.canvas, tracks: tracks)
    }
}

extension Scene {
    /// Creates the scene of idle media: the whole picture on the canvas, with its audio. The last picture stays until
    /// there is another one, or other content to show.
    fileprivate init(idleOn canvas: Canvas, tracks: SourceSelection.Tracks) {
        let pane = Pane(
            source: SourceID.idle.rawValue, user: "", x: 0, y: 0, width: canvas.width, height: canvas.height,
            fit: .contain, matte: canvas.background)
        let level = SceneSound.Level(source: SourceID.idle.rawValue)
        self.init(
            canvas: canvas, panes: tracks == .audio ? [] : [pane],
            sound: SceneSound(levels: tracks == .video ? [] : [level]))
    }

    /// Whether the scene shows or plays only idle media.
    public var isIdle: Bool {
        let sources = panes.map(\.source) + sound.levels.map(\.source)
        return !sources.isEmpty && sources.allSatisfy { $0 == SourceID.idle.rawValue }
    }

    /// The scene without the idle media: the slate.
    public var withoutIdleMedia: Scene {
        var slate = self
        slate.panes.removeAll { $0.source == SourceID.idle.rawValue }
        slate.sound.levels.removeAll { $0.source == SourceID.idle.rawValue }
        if !panes.isEmpty, slate.panes.isEmpty, slate.overlays.isEmpty {
            let empty = LayoutEngine.slate(canvas: canvas)
            (slate.background, slate.overlays) = (empty.background, empty.overlays)
        }
        return slate
    }
}
