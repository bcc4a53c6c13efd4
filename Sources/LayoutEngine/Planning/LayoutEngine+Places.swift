/// A pane with a given place, and its occupant.
public struct Place: Hashable, Sendable {
    public var area: Area
    public var z: Int
    public var fit: Pane.Fit
    /// The participant shown; `nil` if the place is empty.
    public var occupant: LayoutParticipant?
    /// Image shown while there is no picture, as in `Pane.Fallback.image`. `nil` shows the last picture of a live
    /// stream, otherwise black.
    public var placeholder: String?

    public init(area: Area, z: Int, fit: Pane.Fit, occupant: LayoutParticipant? = nil, placeholder: String? = nil) {
        self.area = area
        self.z = z
        self.fit = fit
        self.occupant = occupant
        self.placeholder = placeholder
    }
}

extension LayoutEngine {
    /// Returns the scene of places that are specified individually, without a template. Each has a black background,
    /// which is visible where its picture leaves room or is missing.
    ///
    /// Any input gives a scene, as in `plan`. A place too small for 2×2 pixels of this canvas is left out, and if two
    /// places have the same occupant, the second one is empty.
    ///
    /// - Parameter heard: The streams that are heard, in any order.
    public static func scene(
        of places: [Place], heard: [LayoutParticipant], background: Scene.Backdrop?, canvas: Canvas
    ) -> Scene {
        let canvas = canvas.withinLimits
        var taken: Set<String> = []
        var panes: [Pane] = []
        for (index, place) in places.prefix(LayoutLimits.mostPanes).enumerated() {
            guard let rectangle = Rectangle(place.area, on: canvas) else { continue }
            let occupant = place.occupant.flatMap { taken.insert($0.source).inserted ? $0 : nil }
            let isLive = occupant?.hasVideo ?? false
            let fallback: Pane.Fallback = place.placeholder.map { .image($0) } ?? (isLive ? .card : .nothing)
            panes.append(
                Pane(
                    source: occupant?.source ?? "place-\(index + 1)", user: occupant?.user ?? "", x: rectangle.x,
                    y: rectangle.y, width: rectangle.width, height: rectangle.height, z: place.z, fit: place.fit,
                    isLive: isLive, fallback: fallback,
                    card: Card(name: "", initials: "", colour: .black), matte: .black,
                    // A request that sets the places cannot set the text.
                    reconnecting: ""))
        }
        let order = panes.indices.sorted { (panes[$0].z, $0) < (panes[$1].z, $1) }
        return Scene(
            canvas: canvas, background: background, panes: order.map { panes[$0] },
            sound: SoundTemplate().sound(of: heard))
    }
}
