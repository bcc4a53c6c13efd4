import EncodedMedia
import MediaFormats
import MixModel
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
        guard feeds.count < Self.mostPrograms,
            let request = try? RelayCommand.viewFLV(keyframeRequests: true).document(),
            let keyframeRequest = try? RelayCommand.requestKeyframe.document()
        else { return false }
        let feed = ProgramFeed(path: socket, request: request, keyframeRequest: keyframeRequest) { [weak self] in
            self?.take($0, of: name)
        }
        feeds[name] = feed
        feed.open()
        return true
    }

    private func take(_ event: ProgramFeed.Event, of name: String) {
        switch event {
        case .began: streams[name]?.restart()
        case .tags(let tags): if let stream = streams[name] { push(tags, into: stream, MonotonicClock.now()) }
        case .ended:
            feeds[name] = nil
            endStream(name)
        }
    }

    /// Most bytes of tasks' names in a report, which is one line (`IngestCommand.longestLine`) in which each may double.
    private static let mostNames = 12 << 10

    /// The players of each program, by its task; of the programs that most people play, if the names of all are too long.
    var viewers: [String: Int] {
        var viewers: [String: Int] = [:]
        var bytes = 0
        let counts = feeds.keys.map { ($0, streams[$0]?.playerCount ?? 0) }
        for (name, count) in counts.sorted(by: { $0.1 > $1.1 }) {
            let task = name.dropFirst(StreamBook.programPrefix.count)
            // Beside the name: quotation marks, a colon, a number.
            bytes += task.utf8.count + 16
            guard bytes <= Self.mostNames else { break }
            viewers[String(task)] = count
        }
        return viewers
    }
}
