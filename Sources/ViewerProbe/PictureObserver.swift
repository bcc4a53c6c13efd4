import LayoutEngine

/// A source seen in a picture, and its place.
struct Shown: Hashable, Sendable {
    var source: Int
    var area: PixelRectangle
    /// Whether the source fills the picture uncropped, as in a bypass.
    var isWhole: Bool
}

/// The observations in one picture of a program.
struct PictureObservation: Sendable {
    /// Presentation time in ms.
    var time: Int64
    /// Arrival time as CLOCK_MONOTONIC in ns, if known.
    var arrival: Int64?
    /// Index of the video configuration in the trace.
    var configuration: Int
    var readings: [Int: MarkReading]
    /// The sources shown, ordered by source.
    var shown: [Shown]
    var isBlack: Bool
    /// Whether the picture lies between two scenes.
    var isMoving = false

    var isReadable: Bool { !readings.isEmpty }
    /// Whether the picture cannot be a bypass.
    var isComposed: Bool { shown.count > 1 || shown.contains { !$0.isWhole } }
}

/// The sources in a picture.
struct Sight: Sendable {
    var readings: [Int: MarkReading] = [:]
    /// The sources shown, ordered by source.
    var shown: [Shown] = []
    /// Whether they are on their way from one scene to the next.
    var isMoving = false
}

/// Finds the sources in a picture by trying every place where the known scenes, a bypass, or the way from one of them to another
/// would show them.
struct PictureObserver {
    private struct Size: Hashable {
        var width: Int
        var height: Int
    }

    /// The shape of the sources' pictures, on which the places of their marks depend.
    private struct Shape: Hashable {
        var size: Size
        var mark: MarkGeometry.Place

        init(_ publisher: SyntheticPublisher) {
            size = Size(width: publisher.width, height: publisher.height)
            mark = publisher.mark
        }

        func placement(in area: PixelRectangle, fit: Pane.Fit) -> Placement {
            Placement(area: area, sourceWidth: size.width, sourceHeight: size.height, fit: fit, mark: mark)
        }
    }

    /// The places of sources that are shown together.
    private struct Arrangement {
        var placements: [Placement]
        /// Number of panes.
        var panes: Int
    }

    private let publishers: [Int: SyntheticPublisher]
    private let shapes: Set<Shape>
    private let scenes: [Scene]
    private var still: [Size: [Arrangement]] = [:]
    private var moving: [Size: [Arrangement]] = [:]

    init(_ configuration: ProbeConfiguration) {
        publishers = Dictionary(configuration.publishers.map { ($0.id, $0) }) { first, _ in first }
        shapes = Set(publishers.values.map(Shape.init))
        scenes = configuration.scenes
    }

    /// Returns the sources in `picture`: those of the arrangement in which most sources can be read. A place on the way from one
    /// scene to another is taken only if more can be read there than in any scene.
    mutating func observe(_ picture: Picture) -> Sight {
        let size = Size(width: picture.width, height: picture.height)
        var best = Sight()
        var isComplete = false
        for arrangement in stillArrangements(on: size) {
            let sight = sight(of: picture, in: arrangement)
            guard sight.readings.count > best.readings.count else { continue }
            best = sight
            isComplete = sight.readings.count == arrangement.panes
        }
        guard !isComplete else { return best }
        for arrangement in movingArrangements(on: size) {
            let sight = sight(of: picture, in: arrangement)
            guard sight.readings.count > best.readings.count else { continue }
            best = sight
            best.isMoving = true
        }
        return best
    }

    private func sight(of picture: Picture, in arrangement: Arrangement) -> Sight {
        var sight = Sight()
        for placement in arrangement.placements {
            guard let reading = MarkDecoder.read(picture, at: placement),
                let publisher = publishers[reading.mark.source], sight.readings[publisher.id] == nil,
                publisher.width == placement.sourceWidth, publisher.height == placement.sourceHeight
            else { continue }
            sight.readings[publisher.id] = reading
            let isWhole =
                placement.area == PixelRectangle(x: 0, y: 0, width: publisher.width, height: publisher.height)
                && (picture.width, picture.height) == (publisher.width, publisher.height)
            sight.shown.append(Shown(source: publisher.id, area: placement.area, isWhole: isWhole))
        }
        sight.shown.sort { $0.source < $1.source }
        return sight
    }

    // MARK: Places

    private mutating func stillArrangements(on size: Size) -> [Arrangement] {
        if let known = still[size] { return known }
        let whole = PixelRectangle(x: 0, y: 0, width: size.width, height: size.height)
        var found = [Arrangement(placements: shapes.map { $0.placement(in: whole, fit: .contain) }, panes: 1)]
        found += scenes(on: size).map { Arrangement(placements: placements(of: $0.panes), panes: $0.panes.count) }
        still[size] = found
        return found
    }

    /// Longest transition that is followed, in ms. Its pictures are tried one by one, at every frame.
    private static let longestTransition = 1000

    /// Returns the places on the ways between the scenes, and between each scene and one of its participants alone, with which a mix
    /// begins and ends.
    private mutating func movingArrangements(on size: Size) -> [Arrangement] {
        if let known = moving[size] { return known }
        var found: [Arrangement] = []
        var seen: Set<[Placement]> = []
        for scene in scenes(on: size) where 1...Self.longestTransition ~= scene.transition.duration {
            let alone = scene.panes.map { pane in
                let whole = Pane(
                    source: pane.source, user: pane.user, x: 0, y: 0, width: size.width, height: size.height,
                    fit: pane.fit)
                return Scene(canvas: scene.canvas, panes: [whole], transition: scene.transition)
            }
            let ways =
                (alone + scenes(on: size).filter { $0 != scene }).map { SceneTransition(from: $0, to: scene) }
                + alone.map { SceneTransition(from: scene, to: $0) }
            let steps = Self.steps(of: scene.transition, fps: scene.canvas.fps)
            for panes in ways.flatMap({ way in steps.map { way.scene(at: $0).panes } }) {
                let placements = placements(of: panes)
                guard seen.insert(placements).inserted else { continue }
                found.append(Arrangement(placements: placements, panes: panes.count))
            }
        }
        moving[size] = found
        return found
    }

    private func scenes(on size: Size) -> [Scene] {
        scenes.filter { $0.canvas.width == size.width && $0.canvas.height == size.height }
    }

    private func placements(of panes: [Pane]) -> [Placement] {
        panes.flatMap { pane in
            let area = PixelRectangle(x: pane.x, y: pane.y, width: pane.width, height: pane.height)
            return shapes.map { $0.placement(in: area, fit: pane.fit) }
        }
    }

    /// Returns the shares of a transition after which a picture may be made: those of the canvas's frames.
    ///
    /// A busy machine makes every second, third or fourth of them, and `SceneDocument` then has that rate in whole frames, from
    /// which these are all that the canvas may have.
    private static func steps(of transition: Transition, fps: Int) -> [UnitFraction] {
        let rates = (1...4).flatMap { divisor in fps * divisor..<(fps + 1) * divisor }
        let lengths = Set(rates.map { (transition.duration * $0 + 500) / 1000 })
        return Set(
            lengths.flatMap { length in
                (1..<max(length, 1)).map { UnitFraction(Double($0) / Double(length)) }
            }
        ).sorted()
    }
}
