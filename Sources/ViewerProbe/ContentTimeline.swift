import EncodedMedia
import MixModel

/// A program as a sequence of stretches in which the same sources are shown in the same way.
struct ContentTimeline: Sendable {
    enum Kind: Hashable, Sendable {
        case bypass, mix, unknown
    }

    struct Stretch: Hashable, Sendable {
        var kind: Kind
        var shown: [Shown]
        /// Range of the pictures, as indices into the observations.
        var range: Range<Int>
        /// Whether all of its pictures so far are on the way from one scene to another.
        var isMoving = false

        /// A label such as `bypass 1` or `mix 1+2`.
        var label: String {
            let sources = shown.map { String($0.source) }.joined(separator: "+")
            return switch kind {
            case .bypass: "bypass \(sources)"
            case .mix: "mix \(sources)"
            case .unknown: "unreadable"
            }
        }
    }

    let stretches: [Stretch]

    /// Creates the timeline of a program's pictures.
    ///
    /// A picture that one source fills is a bypass, unless its SPS and PPS are those of a mix (a mix of one
    /// participant, on the way back to bypass). Where all SPS and PPS are equal, only the panes tell them apart. Pictures between
    /// two scenes of a mix belong to the stretch that they lead away from, and to the first one if a mix begins with them.
    ///
    /// - Parameters:
    ///   - pictures: The pictures in the order of presentation.
    ///   - configurations: The trace's configurations, into which the pictures' `configuration` points.
    init(_ pictures: [PictureObservation], configurations: [CodecConfiguration]) {
        func bytes(_ picture: PictureObservation) -> [UInt8] {
            configurations.indices.contains(picture.configuration)
                ? configurations[picture.configuration].bytes : []
        }
        let all = Set(pictures.map(bytes))
        let mixed = all.count > 1 ? Set(pictures.filter(\.isComposed).map(bytes)) : []
        var stretches: [Stretch] = []
        for (index, picture) in pictures.enumerated() {
            guard picture.isReadable else {
                // The picture belongs to the stretch on air; unreadable pictures are counted elsewhere.
                if let last = stretches.indices.last {
                    stretches[last].range = stretches[last].range.lowerBound..<index + 1
                } else {
                    stretches.append(Stretch(kind: .unknown, shown: [], range: 0..<1))
                }
                continue
            }
            let kind: Kind = picture.isComposed || mixed.contains(bytes(picture)) ? .mix : .bypass
            if let last = stretches.indices.last, stretches[last].kind == kind,
                picture.isMoving || stretches[last].isMoving || stretches[last].shown == picture.shown
            {
                stretches[last].range = stretches[last].range.lowerBound..<index + 1
                if stretches[last].isMoving { stretches[last].shown = picture.shown }
                stretches[last].isMoving = stretches[last].isMoving && picture.isMoving
            } else {
                stretches.append(
                    Stretch(kind: kind, shown: picture.shown, range: index..<index + 1, isMoving: picture.isMoving))
            }
        }
        self.stretches = stretches
    }
}
