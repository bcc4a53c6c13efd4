import EncodedMedia
import Foundation
import MediaFormats
import MixModel
import ProgramSplicer

/// A stream that a relay is recording: its program, or a participant's untouched source.
struct RecordingSlot {
    struct Key: Hashable, Sendable {
        /// `RecordingSettings.id`.
        var recording: String
        /// The recorded source; `nil` means the program.
        var source: SourceID?
        /// Distinguishes recorders of one recording: a participant who leaves and joins again gets another file.
        var number: Int
    }

    typealias Consumer = ProgramConsumer<RecorderSettings, RecorderReport>

    let key: Key
    let planned: PlannedRecording
    let consumer: Consumer
    private(set) var status: RecordingStatus
    /// FLV stream of the recorded source. The program has its own.
    private var stream = FLVProgram()
    /// Smooths shifts of the source's timeline, so that its recording has no steps.
    private var easing = Easing()
    /// Totals of the files of earlier processes.
    private var before = RecorderReport(state: .starting)
    private var latest = RecorderReport(state: .starting)

    /// A message for operators.
    struct News {
        var code: String
        var message: String
        var isBad = false
    }

    init(key: Key, planned: PlannedRecording, consumer: Consumer) {
        self.key = key
        self.planned = planned
        self.consumer = consumer
        status = RecordingStatus(id: planned.id, source: key.source)
    }

    /// Records an event of the source.
    mutating func take(_ event: SourceTimeline.Event) {
        switch event {
        case .configuration(let configuration): consumer.send(stream.configure(configuration))
        case .frame(let frame): consumer.send(stream.write(easing.place(frame)))
        case .moved(let amount): easing.absorb(amount)
        case .discontinuity: easing = Easing()
        }
    }

    mutating func take(_ event: Consumer.Event) -> News? {
        switch event {
        case .started:
            before =
                RecorderReport(
                    state: .starting, files: before.files + latest.files, seconds: before.seconds + latest.seconds,
                    bytes: before.bytes + latest.bytes
                ).bounded
            latest = RecorderReport(state: .starting)
            return nil
        case .report(let unbounded):
            let report = unbounded.bounded
            let isNew = report.file != nil && report.file != status.file
            latest = report
            status.state = report.state
            status.file = report.file ?? status.file
            status.files = (before.files + report.files).boundedCount
            status.seconds = (before.seconds + report.seconds).boundedSeconds
            status.bytes = (before.bytes + report.bytes).boundedCount
            if report.state == .recording { status.error = nil }
            if let error = report.error { status.error = error }
            if report.state == .ended {
                return News(code: "recording-ended", message: "\(name) ended by itself after \(Int(status.seconds)) s")
            }
            return isNew ? News(code: "recording", message: "\(name) is being written to \(report.file ?? "")") : nil
        case .failed(let reason, let isFinal):
            guard !isFinal || status.state != .ended else { return nil }
            // The recorder's own description says more than its exit status.
            let failure = latest.error ?? ServiceState.Failure(code: "recorder_lost", message: reason)
            status.error = failure
            status.state = isFinal ? .failed : .recovering
            if !isFinal { status.restarts += 1 }
            // A recorder that crashes repeatedly must not fill the timeline.
            guard isFinal || status.restarts <= Self.mostTold else { return nil }
            let outcome = isFinal ? "it has ended" : "it continues in a new file"
            return News(
                code: "recording-failed", message: "\(name): \(failure.code): \(failure.message); \(outcome)",
                isBad: true)
        case .ended:
            return News(code: "recording-stopped", message: "\(name) was closed after \(Int(status.seconds)) s")
        }
    }

    private static let mostTold = 8

    private var name: String { "recording \(key.recording)" + (key.source.map { " of \($0)" } ?? "") }
}
