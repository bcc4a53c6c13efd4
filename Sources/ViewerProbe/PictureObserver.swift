import LayoutEngine

/// A source seen in a picture, and its place.
struct Shown: Hashable, Sendable {
    var source: Int
    var area: PixelRectangle
    /// Whether the source fills the picture as it is, not cropped, as in a bypass.
    var isWhole: Bool
}

/// The observation of one picture of a program.
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

    var isReadable: Bool { !readings.isEmpty }
    /// Whether the picture cannot be a bypass.
    var isComposed: Bool { shown.count > 1 || shown.contains { !$0.isWhole } }
}

/// Finds the sources in a picture by trying every place where the known scenes, or a bypass, would show them.
struct PictureObserver {
    private struct Size: Hashable {
        var width: Int
        var height: Int
    }

    /// The pictures of sources, as far as their marks' places depend on it.
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

    private let publishers: [Int: SyntheticPublisher]
    private let scenes: [Scene]
    private var arrangements: [Size: [[Placement]]] = [:]

    init(_ configuration: ProbeConfiguration) {
        publishers = Dictionary(configuration.publishers.map { ($0.id, $0) }) { first, _ in first }
        scenes = configuration.scenes
    }

    /// Returns the sources in `picture`, by number: those of the arrangement in which most sources can be read.
    mutating func observe(_ picture: Picture) -> (readings: [Int: MarkReading], shown: [Shown]) {
        var best: (readings: [Int: MarkReading], shown: [Shown]) = ([:], [])
        for arrangement in placements(for: Size(width: picture.width, height: picture.height)) {
            var readings: [Int: MarkReading] = [:]
            var shown: [Shown] = []
            for placement in arrangement {
                guard let reading = MarkDecoder.read(picture, at: placement),
                    let publisher = publishers[reading.mark.source], readings[publisher.id] == nil,
                    publisher.width == placement.sourceWidth, publisher.height == placement.sourceHeight
                else { continue }
                readings[publisher.id] = reading
                let isWhole =
                    placement.area
                    == PixelRectangle(x: 0, y: 0, width: publisher.width, height: publisher.height)
                    && (picture.width, picture.height) == (publisher.width, publisher.height)
                shown.append(Shown(source: publisher.id, area: placement.area, isWhole: isWhole))
            }
            if readings.count > best.readings.count { best = (readings, shown.sorted { $0.source < $1.source }) }
        }
        return best
    }

    private mutating func placements(for size: Size) -> [[Placement]] {
        if let known = arrangements[size] { return known }
        let shapes = Set(publishers.values.map(Shape.init))
        let whole = PixelRectangle(x: 0, y: 0, width: size.width, height: size.height)
        var found = [
            shapes.map { $0.placement(in: whole, fit: .contain) }
        ]
        for scene in scenes where scene.canvas.width == size.width && scene.canvas.height == size.height {
            found.append(
                scene.panes.flatMap { pane in
                    shapes.map { shape in
                        shape.placement(
                            in: PixelRectangle(x: pane.x, y: pane.y, width: pane.width, height: pane.height),
                            fit: pane.fit)
                    }
                })
        }
        arrangements[size] = found
        return found
    }
}
