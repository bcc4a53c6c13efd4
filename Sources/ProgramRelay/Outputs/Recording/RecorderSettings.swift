import MediaFormats
import MixModel

/// Settings of a recorder. The first line that it reads.
struct RecorderSettings: Hashable, Codable, Sendable {
    var room: String
    var task: String
    /// The participant's source to record; `nil` means the program.
    var source: SourceID?
    var recording: PlannedRecording
    /// Seconds since 1970 at time 0 of the stream; `nil` means that it is determined with the first frame.
    var wallClockAtZero: Double?

    /// Common part of the files' names: the start of the recording in UTC, its id, the node of a cluster, and the source,
    /// if any.
    var stem: String {
        var parts = [UTCTime(recording.settings.startedAt).compact, FileName.safe(recording.id)]
        // Without a hyphen: part 2 at the node "mix" is not part 1 at the node "mix-2".
        if let node = recording.node { parts.append("on-" + FileName.safe(node).replacing("-", with: "~2d")) }
        if let source { parts.append(FileName.safe(source.rawValue)) }
        return parts.joined(separator: "-")
    }

    /// Returns the name of a part's file, without its directory.
    func fileName(part: Int) -> String { stem + (part > 1 ? "-\(part)" : "") + ".mp4" }

    var limits: ProgramRecording.Limits {
        ProgramRecording.Limits(
            partSeconds: recording.settings.partSeconds.map(Double.init),
            seconds: recording.settings.maxSeconds.map(Double.init), bytes: recording.settings.maxBytes)
    }
}
