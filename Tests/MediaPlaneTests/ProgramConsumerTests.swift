import Foundation
import MixModel
import ProgramSplicer
import Synchronization
import TestSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramRelay

/// Real child processes: shell scripts instead of `mixworker`.
@Suite struct ProgramConsumerTests {
    @Test func itReadsSettingsAndProgramAndReportsBack() async throws {
        let bench = try ConsumerBench(
            """
            read -r settings <&0
            echo "{\\"said\\":\\"$1 $(echo "$settings" | tr -d '\\"')\\"}" >&0
            cat > "$dir/program.flv"
            echo '{"said":"closed"}' >&0
            """)
        let tags = ConsumerBench.tags(groups: 3)
        let consumer = bench.consumer(preamble: Array(tags[..<30]))
        consumer.tick()
        consumer.send(Array(tags[30...]))
        await consumer.end(within: 60)
        // Ended twice: once is enough.
        await consumer.end()
        #expect(bench.saidSoFar == ["recorder {name:a line}", "closed"])
        #expect(bench.ends == 1 && bench.failures.isEmpty)
        #expect(try bench.program == FLVTag.fileHeader + tags.flatMap(\.encoded))
    }

    @Test func oneThatCrashesIsStartedAgainAndGoesOnWithTheNextKeyframe() async throws {
        let bench = try ConsumerBench(
            """
            read -r settings <&0
            echo run >> "$dir/runs"
            if [ $(wc -l < "$dir/runs") = 1 ]; then head -c 2000 > /dev/null; kill -SEGV $$; fi
            cat > "$dir/program.flv"
            """)
        let tags = ConsumerBench.tags(groups: 4)
        let consumer = bench.consumer(policy: .init(firstDelay: 0.05))
        consumer.tick()
        consumer.send(Array(tags[..<40]))
        await bench.until { bench.failures.count == 1 }
        #expect(bench.failures == ["exited unexpectedly, signal 11"])
        #expect(consumer.lastError == "exited unexpectedly, signal 11")
        consumer.send(Array(tags[40...]))
        await bench.until {
            consumer.tick()
            return bench.starts == 2
        }
        await consumer.end(within: 60)
        let items = try bench.items
        let frames = items.filter { if case .frame = $0 { true } else { false } }
        #expect(frames.first?.isFirstOfGroup == true)
        // The successor begins with the group during which its predecessor crashed: nothing is lost.
        #expect(frames.count == tags.count - 3)
        #expect(consumer.droppedFrames == 0)
    }

    @Test func oneThatHangsIsKilledAndReplaced() async throws {
        let bench = try ConsumerBench("exec sleep 1000")
        let consumer = bench.consumer(policy: .init(firstDelay: 0.05, patience: 0.1))
        let failure = "it accepted no data for 0 s and was killed"
        let big = FLVTag(
            role: .frame(.audio, isIDR: false), timestamp: 0, body: [UInt8](repeating: 0xAF, count: 4 << 20))
        consumer.send([big])
        await bench.until {
            consumer.tick()
            return bench.starts >= 2
        }
        // The second process may already have hung for as long.
        #expect(!bench.failures.isEmpty && bench.failures.allSatisfy { $0 == failure }, "\(bench.failures)")
        await consumer.end(within: 0.1)
        #expect(bench.ends == 1)
    }

    @Test func oneThatIsTooSlowLosesWholeGroupsOfPictures() async throws {
        let bench = try ConsumerBench(
            """
            while [ ! -e "$dir/go" ]; do sleep 0.05; done
            read -r settings <&0
            cat > "$dir/program.flv"
            """)
        let tags = ConsumerBench.tags(groups: 40, payload: 20_000)
        let consumer = bench.consumer(limits: .init(milliseconds: 5_000))
        consumer.tick()
        for tag in tags { consumer.send([tag]) }
        #expect(consumer.droppedFrames > 100)
        try Data().write(to: bench.directory.appending(path: "go"))
        await consumer.end(within: 60)
        let frames = try bench.items.compactMap { item -> EncodedFrame? in
            if case .frame(let frame) = item { frame } else { nil }
        }
        #expect(frames.count == tags.count - 3 - consumer.droppedFrames)
        // Across each hole, the pictures continue with a keyframe.
        let pictures = frames.filter { $0.track == .video }
        let holes = zip(pictures, pictures.dropFirst()).filter { $1.dts - $0.dts > .milliseconds(100) }
        #expect(!holes.isEmpty && holes.allSatisfy { $1.isIDR })
    }

    @Test func whatCannotBeHelpedIsNotTriedAgain() async throws {
        let bench = try ConsumerBench(
            """
            echo run >> "$dir/runs"
            echo '{"said":"sorry","finalFailure":"no space left in /recordings"}' >&0
            exit 1
            """)
        let consumer = bench.consumer(policy: .init(firstDelay: 0))
        consumer.tick()
        await bench.until { !bench.failures.isEmpty }
        for _ in 0..<10 { consumer.tick() }
        consumer.send(ConsumerBench.tags(groups: 1))
        #expect(bench.failures == ["no space left in /recordings"] && bench.finals == 1)
        #expect(bench.starts == 1)
        await consumer.end()
        #expect(bench.ends == 1)
    }

    @Test func oneThatDoesNotEndIsKilled() async throws {
        let bench = try ConsumerBench(##"trap '' TERM; echo '{"said":"here"}' >&0; while true; do sleep 0.1; done"##)
        let consumer = bench.consumer()
        consumer.tick()
        await bench.until { bench.saidSoFar == ["here"] }
        await consumer.end(within: 0.1)
        #expect(bench.ends == 1)
    }

    @Test func oneThatCannotBeStartedIsTriedAgain() async throws {
        let bench = try ConsumerBench("true")
        let consumer = bench.consumer(worker: URL(fileURLWithPath: "/nowhere/mixworker"), policy: .init(firstDelay: 0))
        consumer.tick()
        await bench.until { bench.failures.count == 1 }
        consumer.tick()
        await bench.until { bench.failures.count == 2 }
        #expect(bench.failures.count == 2 && bench.failures.allSatisfy { $0.hasPrefix("cannot be started: ") })
        await consumer.end()
    }
}

/// Settings, reports and a script for one test, in a separate directory.
final class ConsumerBench: Sendable {
    struct Settings: Encodable, Sendable { var name = "a line" }

    struct Report: ConsumerReport {
        var said: String
        var finalFailure: String?
    }

    typealias Consumer = ProgramConsumer<Settings, Report>

    let directory: URL
    private let events = Mutex<[Consumer.Event]>([])

    init(_ script: String) throws {
        // The end of a child shows as a failed write.
        signal(SIGPIPE, SIG_IGN)
        directory = FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try "#!/bin/bash\ndir='\(directory.path)'\n\(script)\n".write(to: worker, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: worker.path)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    private var worker: URL { directory.appending(path: "worker") }

    func consumer(
        worker: URL? = nil, preamble: [FLVTag] = [], policy: ConsumerMachine.Policy = .init(),
        limits: OutputQueue.Limits = .ofConsumers
    ) -> Consumer {
        Consumer(
            worker: worker ?? self.worker, subcommand: "recorder", settings: Settings(), preamble: preamble,
            label: "test", policy: policy, limits: limits
        ) { [self] event in events.withLock { $0.append(event) } }
    }

    var saidSoFar: [String] {
        events.withLock { $0.compactMap { if case .report(let report) = $0 { report.said } else { nil } } }
    }
    var failures: [String] {
        events.withLock { $0.compactMap { if case .failed(let reason, _) = $0 { reason } else { nil } } }
    }
    var finals: Int { events.withLock { $0.count { if case .failed(_, true) = $0 { true } else { false } } } }
    var starts: Int { events.withLock { $0.count { if case .started = $0 { true } else { false } } } }
    var ends: Int { events.withLock { $0.count { if case .ended = $0 { true } else { false } } } }

    var program: [UInt8] { get throws { [UInt8](try Data(contentsOf: directory.appending(path: "program.flv"))) } }

    var items: [MediaItem] {
        get throws {
            var reader = FLVReader()
            return try reader.push(program)
        }
    }

    func until(_ condition: () -> Bool) async {
        let isTrue = try? await poll(within: .seconds(60), every: .milliseconds(10)) { condition() ? true : nil }
        #expect(isTrue == true, "\(events.withLock { $0 })")
    }

    /// Returns groups of a second, 25 pictures and 50 sounds each, after metadata and headers.
    static func tags(groups: Int, payload: Int = 100) -> [FLVTag] {
        let idr: [UInt8] = [0, 0, 0, 2, 0x65, 0x88]
        let slice: [UInt8] = [0, 0, 0, 2, 0x41, 0x9A]
        var tags = [
            FLVTag(role: .metadata, timestamp: 0, body: FLVMetadata(video: nil, audio: nil, framesPerSecond: nil).body),
            FLVTag(
                role: .sequenceHeader(.video), timestamp: 0, body: [0x17, 0, 0, 0, 0, 1, 0x42, 0, 0x1E, 0xFF, 0xE0, 0]),
            FLVTag(role: .sequenceHeader(.audio), timestamp: 0, body: [0xAF, 0, 0x11, 0x90]),
        ]
        for index in 0..<groups * 25 {
            let isIDR = index % 25 == 0
            let body = [isIDR ? 0x17 : 0x27, 1, 0, 0, 0] + (isIDR ? idr : slice)
            let time = UInt32(index * 40)
            tags.append(
                FLVTag(
                    role: .frame(.video, isIDR: isIDR), timestamp: time,
                    body: body + [UInt8](repeating: 0, count: payload)))
            for sound in 0..<2 {
                tags.append(
                    FLVTag(
                        role: .frame(.audio, isIDR: false), timestamp: time + UInt32(sound * 20),
                        body: [0xAF, 1, 0x21, 0]))
            }
        }
        return tags
    }
}

extension MediaItem {
    fileprivate var isFirstOfGroup: Bool {
        if case .frame(let frame) = self { frame.isIDR } else { false }
    }
}
