/// Sums up the bytes and skips of viewers and reports them periodically. Lives on the event loop of its viewers.
final class PlaybackFigures {
    private let metrics: Metrics
    private var bytes = 0
    private var skips = 0

    init(_ metrics: Metrics) { self.metrics = metrics }

    func add(bytes: Int, skips: Int) {
        self.bytes += bytes
        self.skips += skips
    }

    func flush() {
        if bytes > 0 { metrics.count(.viewerBytes, by: Int64(bytes)) }
        if skips > 0 { metrics.count(.viewerSkips, by: Int64(skips)) }
        (bytes, skips) = (0, 0)
    }
}
