import MixModel

/// A report from a recorder to its relay. Sent after every change and about once a second.
struct RecorderReport: Hashable, Codable, ConsumerReport {
    var state: RecordingStatus.State
    var file: String?
    var files = 0
    /// Seconds of media in all files together. `bytes`: size of all files together.
    var seconds = 0.0
    var bytes: Int64 = 0
    var error: ServiceState.Failure?

    /// The report with bounded numbers, which can be added safely: no report can crash the relay.
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
        case .ended: "it has ended by itself, as requested"
        case .starting, .recording, .recovering: nil
        }
    }
}
