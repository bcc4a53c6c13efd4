import Foundation
import Logging
import MixModel
import Synchronization
import Testing

@testable import MediaFormats
@testable import ProgramRelay

/// Every kind of output that a relay has, opened from its plan.
@Suite(.timeLimit(.minutes(3))) struct OutputKindTests {
    /// Plans of each kind, an ordinary one first. A new kind must be added here.
    private static let plans: [String: [PlannedOutput]] = [
        RTMPOutput.name: ["rtmp://127.0.0.1:1/live/key", "nonsense", "", "rtmp://[::", "udp://127.0.0.1:1"].map {
            PlannedOutput(
                PushDestination(id: "o", url: $0, retry: OutputRetry(maxAttempts: .min, maxSeconds: .max)))
        },
        SRTOutput.name: ["srt://127.0.0.1:1", "srt://", "srt://127.0.0.1/x", "srt://127.0.0.1:1?mode=server"].map {
            PlannedOutput(
                PushDestination(id: "o", url: $0, retry: OutputRetry(maxAttempts: .min, maxSeconds: .max)))
        },
        WHIPOutput.name: ["whip://127.0.0.1:1/whip/a", "whips://", "whip://127.0.0.1:0/x", "whip://a:b@h/x"].map {
            PlannedOutput(
                PushDestination(id: "o", url: $0, retry: OutputRetry(maxAttempts: .min, maxSeconds: .max)))
        },
        FileOutput.name: ["file://localhost/a.ts", "file://", "file://localhost/../a.ts", "file://localhost/a.mp4"].map
        {
            PlannedOutput(
                PushDestination(id: "o", url: $0, retry: OutputRetry(maxAttempts: .min, maxSeconds: .max)))
        },
        HLSOutput.name: [4, 0, .min, .max].map {
            PlannedOutput(
                PlannedHLS(
                    directory: $0 == 4 ? "/nowhere/hls" : "",
                    settings: HLSSettings(segmentSeconds: $0, windowSeconds: $0)))
        },
        RecordingOutput.name: [1.5, -1e300, .infinity, .nan].map {
            PlannedOutput(
                PlannedRecording(
                    settings: RecordingSettings(
                        participants: true, maxSeconds: .min, maxBytes: .max, partSeconds: 0,
                        id: $0 == 1.5 ? "r" : "../\0", startedAt: $0),
                    directory: "/nowhere", keepFreeBytes: .min))
        },
    ]

    /// Opens outputs whose processes do no work, because their worker does not exist.
    private static func context(_ report: @escaping @Sendable (OutputReport) -> Void = { _ in }) -> OutputContext {
        OutputContext(
            room: "app/r", task: "t", worker: URL(filePath: "/nowhere/mixworker"),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            headers: [FLVTag(role: .sequenceHeader(.audio), timestamp: 0, body: [0xAF, 0, 0x11, 0x90])],
            mark: ProgramMark(
                at: .zero, wallClock: 1, from: nil, to: .bypass, source: "a/camera", cause: "c", scene: nil),
            wallClockAtZero: 1, report: report)
    }

    @Test func kindsHaveNamesOfTheirOwn() {
        #expect(Set(OutputKinds.all.map { $0.name }).count == OutputKinds.all.count)
        #expect(Set(Self.plans.keys) == Set(OutputKinds.all.map { $0.name }), "plans of every kind")
    }

    @Test func everyDocumentHasAKind() {
        func takes<Kind: OutputKind>(_ kind: Kind.Type, _ document: any OutputDocument.Type) -> Bool {
            Kind.Plan.self == document
        }
        for document in OutputDocuments.all {
            #expect(OutputKinds.all.contains { takes($0, document) }, "\(document)")
        }
    }

    @Test(arguments: OutputKinds.all.map { $0.name })
    func outputsOpenAndClose(kind: String) async throws {
        let plans = try #require(Self.plans[kind])
        for planned in plans {
            let output = try #require(OutputKinds.open(planned, in: Self.context()))
            for other in Self.plans where other.key != kind {
                #expect(!output.adopt(other.value[0]), "\(kind) goes on as \(other.key)")
            }
            output.send(shared: [
                OutputTag(FLVTag(role: .frame(.audio, isIDR: false), timestamp: 1, body: [0xAF, 1, 1]))
            ])
            output.mark(
                ProgramMark(
                    at: .seconds(-1e9), wallClock: .nan, from: nil, to: .mix, source: nil, cause: "", scene: nil))
            output.take(.moved(by: .milliseconds(1)), of: "a/camera")
            for ending in output.follow([OutputSource(id: "a/camera", timeline: .init())], now: .zero) {
                await ending()
            }
            output.tick()
            output.retryNow()
            let document = try #require(OutputDocuments.all.first { $0.kind == planned.key.kind })
            #expect(output.statuses.allSatisfy { Self.isStatus($0, of: document) } && !output.statuses.isEmpty)
            let start = ContinuousClock.now
            await output.close()
            #expect(ContinuousClock.now - start < .seconds(25))
        }
        let output = try #require(OutputKinds.open(plans[0], in: Self.context()))
        #expect(output.adopt(plans[0]), "the same plan is no change")
        #expect(!output.adopt(plans[1]))
        await output.close()
    }

    private static func isStatus<Document: OutputDocument>(_ status: OutputStatus, of document: Document.Type) -> Bool {
        status.document is Document.Status
    }

    /// Events of an output reach the relay. The executable of the processes in this test does not exist.
    @Test(arguments: [HLSOutput.name, RecordingOutput.name])
    func aProcessThatCannotStartIsReported(kind: String) async throws {
        let reports = Mutex<[OutputReport]>([])
        let planned = try #require(Self.plans[kind]?.first)
        let context = Self.context { report in reports.withLock { $0.append(report) } }
        let output = try #require(OutputKinds.open(planned, in: context))
        try #require(await outputEventually { !reports.withLock { $0.isEmpty } })
        #expect(output.statuses.count == 1)
        await output.close()
    }

    @Test func aDestinationTakesOtherLimitsWhileRunning() async throws {
        func planned(_ url: String, _ attempts: Int?) -> PlannedOutput {
            PlannedOutput(PushDestination(id: "o", url: url, retry: attempts.map { OutputRetry(maxAttempts: $0) }))
        }
        let output = try #require(OutputKinds.open(planned("rtmp://127.0.0.1:1/é", nil), in: Self.context()))
        #expect(output.adopt(planned("rtmp://127.0.0.1:1/é", 1)))
        #expect(!output.adopt(planned("rtmp://127.0.0.1:1/e\u{301}", 1)), "another path by its bytes")
        let gaveUp = try await outputEventually {
            output.statuses.destinations.first?.state == .failed
        }
        #expect(gaveUp)
        await output.close()
    }
}
