import EventSubscription

extension StreamURL {
    /// Schemes that the URL of an output may have.
    package static let pushSchemes: Set<Scheme> = [.rtmp, .rtmps, .srt, .whip, .whips, .file]
}
