import EncodedMedia
import MediaFormats
import RTMP

/// Programs that people play: `rtmp://host/program/{room}`.
extension IngestServer {
    /// Most programs that are played at once.
    static let mostPrograms = 256

    /// Reads a program from its relay, unless it is already being read.
    ///
    /// - Returns: Whether it is read.
    func feed(_ name: String, from socket: String) -> Bool {
        guard feeds[name] == nil else { return true }
        guard feeds.count < Self.mostPrograms else { return false }
        let feed = ProgramFeed(path: socket) { [weak self] in self?.take($0, of: name) }
        feeds[name] = feed
        feed.open()
        return true
    }

    private func take(_ event: ProgramFeed.Event, of name: String) {
        switch event {
        case .began: streams[name]?.restart()
        case .tags(let tags): if let stream = streams[name] { push(tags, into: stream, name, MonotonicClock.now()) }
        case .ended:
            feeds[name] = nil
            endStream(name)
        }
    }

    /// The players of each program, by its task.
    var viewers: [String: Int] {
        feeds.keys.reduce(into: [:]) { viewers, name in
            viewers[String(name.dropFirst(StreamBook.programPrefix.count))] = streams[name]?.playerCount ?? 0
        }
    }
}
