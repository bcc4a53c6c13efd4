/// A value for each track that has one. Every packet looks at some of them, and a dictionary would hash the track each time.
package struct PerTrack<Value> {
    package var video: Value?
    package var audio: Value?

    package init() {}

    @inlinable
    package subscript(track: Track) -> Value? {
        get { track == .video ? video : audio }
        set {
            switch track {
            case .video: video = newValue
            case .audio: audio = newValue
            }
        }
    }
}

extension PerTrack: Sendable where Value: Sendable {}
