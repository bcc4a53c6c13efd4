import MixModel

/// What a recorder tells its relay, after every change and about once a second.
struct RecorderReport: Hashable, Codable, ConsumerReport {
    var state: RecordingStatus.State
    var file: String?
    var files = 0
    /// Of media, and of all files together.
    var seconds = 0.0
    var bytes: Int64 = 0
    var error: ServiceState.Failure?

    /// With numbers that can be added up: whatever a recorder says, its relay goes on.
    var bounded: RecorderReport {
        var report = self
        report.files = files.boundedCount
        report.seconds = seconds.boundedSeconds
        report.bytes = bytes.boundedCount
        return report
    }

    var finalFailure: String? {
        switch state {
        case .failed: error?.message ?? "failed"
        case .ended: "it has ended by itself, as was asked for"
        case .starting, .recording, .recovering: nil
        }
    }
}
