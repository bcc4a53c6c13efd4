import MixModel
import ProgramSplicer

/// The first line that a recorder reads.
struct RecorderSettings: Hashable, Codable, Sendable {
    var room: String
    var task: String
    /// What somebody publishes; `nil` = the program.
    var source: SourceID?
    var recording: PlannedRecording
    /// Seconds since 1970 at time 0 of the stream; `nil` = when its first frame comes.
    var wallClockAtZero: Double?

    /// Of the files: when the recording was started in UTC, its id, and whose stream it is.
    var stem: String {
        let parts = [UTCTime(recording.settings.startedAt).compact, FileName.safe(recording.id)]
        return (parts + (source.map { [FileName.safe($0.rawValue)] } ?? [])).joined(separator: "-")
    }

    /// Of the file of a part, without its directory.
    func fileName(part: Int) -> String { stem + (part > 1 ? "-\(part)" : "") + ".mp4" }

    var limits: ProgramRecording.Limits {
        ProgramRecording.Limits(
            partSeconds: recording.settings.partSeconds.map(Double.init),
            seconds: recording.settings.maxSeconds.map(Double.init), bytes: recording.settings.maxBytes)
    }
}
