import EncodedMedia
import MediaFormats
import MixModel
import RTMP

/// Playback of programs: `rtmp://host/program/{room}`.
extension IngestServer {
    /// Largest number of programs that are played at once.
    static let mostPrograms = 256

    /// Starts to read a program from its relay, unless it is already being read.
    ///
    /// - Parameter detour: Where it is read while no relay listens at the socket.
    /// - Returns: Whether the program is being read.
    func feed(_ name: String, from socket: String, _ detour: ProgramDetour?) -> Bool {
        guard programs[name] == nil else { return true }
        guard programs.count < Self.mostPrograms,
            let request = try? RelayCommand.viewFLV(keyframeRequests: true).document(),
            let keyframeRequest = try? RelayCommand.requestKeyframe.document()
        else { return false }
        let program = ProgramClient(
            path: socket, request: request, keyframeRequest: keyframeRequest,
            detour: detour.map { ProgramClient.Detour(path: $0.socket, request: $0.request) }
        ) { [weak self] in self?.take($0, of: name) }
        programs[name] = program
        program.open()
        return true
    }

    private func take(_ event: ProgramClient.Event, of name: String) {
        switch event {
        case .began: streams[name]?.restart()
        case .tags(let tags): if let stream = streams[name] { push(tags, into: stream, MonotonicClock.now()) }
        case .ended:
            programs[name] = nil
            endStream(name)
        }
    }

    /// Largest size in bytes of the tasks' names in a report. A report is one line (`IngestCommand.longestLine`), in
    /// which each name may double in size.
    private static let mostNames = 12 << 10

    /// The number of players of each program, by task; only the programs with most players if the names of all are too
    /// long.
    var viewers: [String: Int] {
        var viewers: [String: Int] = [:]
        var bytes = 0
        let counts = programs.keys.map { ($0, streams[$0]?.playerCount ?? 0) }
        for (name, count) in counts.sorted(by: { $0.1 > $1.1 }) {
            let task = name.dropFirst(IngestMachine.programPrefix.count)
            // In addition to the name: quotation marks, a colon, a number.
            bytes += task.utf8.count + 16
            guard bytes <= Self.mostNames else { break }
            viewers[String(task)] = count
        }
        return viewers
    }
}
