import EncodedMedia
import Foundation
import MediaFormats
import MixModel

/// The process that decodes keyframes of a program's sources, so that frozen and black pictures are found. Belongs to its
/// relay.
///
/// The process (`mixworker thumbnail`) runs only while it is needed, is contained, and yields to all other work. It answers
/// one question at a time. One that has ended, or does not answer, is replaced after a pause.
final class PictureExaminer {
    /// The keyframe that is being examined.
    struct Question: Hashable {
        var source: SourceID
        /// Number of the connection that has delivered it.
        var attempt: Int
        /// Its time, as its `QualityWatch` counts.
        var time: MediaTime
    }

    /// Longest wait for an answer: the process has what other work leaves of the machine.
    static let patience = MediaTime.seconds(10)
    private static let pauses = (first: MediaTime.seconds(2), longest: MediaTime.seconds(60))

    /// Number of the process. Distinguishes late answers of an earlier one.
    private(set) var generation = 0
    private var worker: WorkerProcess?
    private var question: (what: Question, askedAt: MediaTime)?
    /// Program time before which no process is started.
    private var startsAt = MediaTime.zero
    private var pause = PictureExaminer.pauses.first

    /// Returns whether a question may be asked.
    func isFree(now: MediaTime) -> Bool { question == nil && (worker != nil || now >= startsAt) }

    /// Returns whether the answer is overdue.
    func isLate(now: MediaTime) -> Bool { question.map { now - $0.askedAt > Self.patience } ?? false }

    /// Sends a question, and starts the process if there is none. Call only while `isFree`.
    ///
    /// - Parameters:
    ///   - executable: The `mixworker` binary.
    ///   - onAnswer: Called on the socket loop with the number of the process, and with `nil` when it has ended or its
    ///     answer cannot be read.
    /// - Throws: If no process can be started.
    func ask(
        _ what: Question, _ frame: EncodedFrame, _ configuration: CodecConfiguration, executable: URL, now: MediaTime,
        onAnswer: @escaping @Sendable (Int, PreviewAnswer?) -> Void
    ) throws {
        var writer = FLVProgram()
        let picture = EncodedFrame(track: .video, pts: .zero, dts: .zero, isIDR: true, payload: frame.payload)
        let tags = writer.configure(configuration) + writer.write(picture)
        let flv = FLVTag.fileHeader + tags.flatMap(\.encoded)
        guard flv.count <= PreviewRequest.longest else { return }
        let worker = try worker ?? start(executable, onAnswer)
        self.worker = worker
        question = (what, now)
        worker.send(PreviewRequest(side: 0, asksForSample: true, flv: flv).wireBytes)
    }

    private func start(
        _ executable: URL, _ onAnswer: @escaping @Sendable (Int, PreviewAnswer?) -> Void
    ) throws -> WorkerProcess {
        let reader = AnswerReader { [generation] in onAnswer(generation, $0) }
        return try WorkerProcess(
            executable: executable, arguments: ["thumbnail"], onBytes: { reader.push($0) },
            onExit: { _ in reader.end() })
    }

    /// Records an answer.
    ///
    /// - Returns: The question; `nil` if none was asked, so that the process is not to be trusted.
    func answered() -> Question? {
        guard let answered = question?.what else { return nil }
        question = nil
        pause = Self.pauses.first
        return answered
    }

    /// Gives the process up. Another one is started after a pause, which grows with every failure.
    ///
    /// - Returns: Waits for its end.
    func failed(now: MediaTime) -> (@Sendable () async -> Void)? {
        startsAt = now + pause
        pause = min(pause * 2, Self.pauses.longest)
        return end()
    }

    /// Ends the process, if there is one.
    ///
    /// - Returns: Waits for its end.
    func end() -> (@Sendable () async -> Void)? {
        question = nil
        guard let ended = worker else { return nil }
        worker = nil
        generation += 1
        ended.kill()
        return { await ended.waitForExit() }
    }
}

/// Parses the answers of a process. Used only on the socket loop.
private final class AnswerReader: @unchecked Sendable {
    /// Maximum size of an answer, in bytes. A sample takes about 4 KiB; its process may be compromised, and the loop, which
    /// feeds all programs, parses what it sends.
    private static let longest = 64 << 10

    private var bytes: [UInt8] = []
    private var isOver = false
    private let onAnswer: @Sendable (PreviewAnswer?) -> Void

    init(onAnswer: @escaping @Sendable (PreviewAnswer?) -> Void) { self.onAnswer = onAnswer }

    func push(_ more: [UInt8]) {
        guard !isOver else { return }
        bytes += more
        while let length = PreviewWire.length(bytes) {
            guard length <= Self.longest else { return end() }
            guard bytes.count >= 4 + length else { return }
            guard let answer = PreviewAnswer(body: Array(bytes[4..<4 + length])) else { return end() }
            bytes.removeFirst(4 + length)
            onAnswer(answer)
        }
    }

    /// Reports the end of the process, or of what can be read, once.
    func end() {
        guard !isOver else { return }
        isOver = true
        bytes = []
        onAnswer(nil)
    }
}
