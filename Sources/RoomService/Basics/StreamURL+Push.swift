import EventSubscription

extension StreamURL {
    /// Schemes allowed in the URL of an output.
    package static let pushSchemes: Set<Scheme> = [.rtmp, .rtmps, .srt, .whip, .whips, .file]
}
