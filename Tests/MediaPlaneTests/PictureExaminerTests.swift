import Foundation
import MixModel
import TestSupport
import Testing

@testable import EncodedMedia
@testable import ProgramRelay

/// A process that decodes keyframes, and has been taken over by one of them.
@Suite(.timeLimit(.minutes(3))) struct PictureExaminerTests {
    private static let question = PictureExaminer.Question(source: "alice/camera", attempt: 1, time: .zero)
    private static let keyframe = EncodedFrame(track: .video, pts: .zero, dts: .zero, isIDR: true, payload: [1])

    /// It announces an answer of 1 MiB, of which nothing comes.
    @Test func aLongAnswerIsRefused() async throws {
        let worker = FileManager.default.temporaryDirectory.appending(path: "examiner-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: worker) }
        // The socket is the standard input.
        try Data("#!/bin/sh\nprintf '\\000\\020\\000\\000' >&0\nexec sleep 100\n".utf8).write(to: worker)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: worker.path)
        let examiner = PictureExaminer()
        let refusals = Gathered<Bool>()
        try examiner.ask(
            Self.question, Self.keyframe, CodecConfiguration(.h264, bytes: [1, 66, 0, 30]), executable: worker,
            now: .zero
        ) { _, answer in refusals.add(answer == nil) }
        let isRefused = try await poll(within: .seconds(50), every: .milliseconds(10)) { refusals.all.first }
        #expect(isRefused == true)
        if let end = examiner.end() { await end() }
    }

    @Test func onlyAQuestionIsAnswered() {
        #expect(PictureExaminer().answered() == nil)
    }
}
