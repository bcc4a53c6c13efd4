/// The tracks taken from a stream, or carried by a program.
public enum TrackSelection: String, Hashable, Codable, Sendable, CaseIterable {
    case all, audio, video
}
