import ChildProcesses
import Foundation
import MixModel
import TestSupport
import Testing
import TextFormats

@testable import ViewerProbe

/// A real `mixworker page`, and the service that controls it.
typealias PageRig = WorkerRig<PageCommand, PageReport>

extension WorkerRig where Command == PageCommand, Report == PageReport {
    static func start() async throws -> PageRig {
        let rig = try await PageRig(.page)
        rig.send(.hello(version: PageCommand.version))
        #expect(
            try await outputEventually { rig.reports.contains { if case .hello = $0 { true } else { false } } },
            "\(rig.log)")
        return rig
    }

    var states: [PageState.Step] {
        reports.compactMap { if case .state(let state) = $0 { state.step } else { nil } }
    }
    /// Reasons of the failures that it has reported.
    var reasons: [String] {
        reports.compactMap { if case .state(let state) = $0 { state.reason } else { nil } }
    }
    var isOnAir: Bool { states.last == .onAir }
    var end: String? { first { if case .ended(let reason) = $0 { reason } else { nil } } }
}

/// A page on loopback, the worker that shows it, and the ingest that receives its stream.
final class PageScene: Sendable {
    static let size = (width: 640, height: 360)
    static let publisher = SyntheticPublisher(id: 3, width: 640, height: 360, fps: TestPage.rate)

    let ingest: IngestRig
    let worker: PageRig
    let server: PageServer

    /// - Parameters:
    ///   - query: Query of the page's URL, with `?`, or another path without its first `/`.
    ///   - redirects: URLs to which the page's server redirects requests, by path.
    static func start(
        _ query: String = "", ready: PageReadiness = .painted, end: PageEnding? = nil, allowed: [Reach.Place] = [],
        page: String = TestPage.html(source: 3), redirects: [String: String] = [:], processors: Int? = nil,
        niceness: Int? = nil
    ) async throws -> PageScene {
        let scene = try await PageScene(page, redirects: redirects)
        var job = scene.job(query, ready, allowed)
        (job.end, job.processors, job.niceness) = (end, processors, niceness)
        scene.worker.send(.publish(job))
        return scene
    }

    /// Starts a scene whose browser waits for its page.
    ///
    /// - Returns: The scene.
    static func startWarm() async throws -> PageScene {
        let scene = try await PageScene(TestPage.html(source: 3))
        var job = scene.job("", .painted, [])
        (job.address, job.target, job.reach) = ("", "", Reach(places: []))
        scene.worker.send(.prepare(job))
        let isThere = try await outputEventually(within: .seconds(90)) { scene.worker.reports.contains(.prepared) }
        try #require(isThere, "\(scene.worker.reports)\n\(scene.worker.log)")
        return scene
    }

    private init(_ page: String, redirects: [String: String] = [:]) async throws {
        server = try PageServer(["/": page], redirects: redirects)
        ingest = try await IngestRig.start()
        worker = try await PageRig.start()
    }

    func job(_ query: String = "", _ ready: PageReadiness, _ allowed: [Reach.Place] = []) -> PageJob {
        let own = Reach.Place(scheme: "http", address: "127.0.0.1", port: server.port)
        return PageJob(
            address: "http://127.0.0.1:\(server.port)/\(query)", target: ingest.publishURL("alice"),
            width: Self.size.width, height: Self.size.height, frameRate: TestPage.rate, ready: ready,
            readyLimit: 40, reach: Reach(places: allowed + [own]), user: geteuid() == 0 ? "nobody" : nil)
    }

    /// Suspends until the page is on air, and its stream has reached the ingest.
    func waitForAir() async throws {
        let isThere = try await outputEventually(within: .seconds(90)) { self.worker.isOnAir || self.worker.end != nil }
        try #require(isThere && worker.end == nil, "\(worker.reports)\n\(worker.log)")
    }

    /// Records the stream that the ingest plays.
    func record(_ name: String, seconds: Double) async throws -> FLVRecording {
        let recorder = ProbeRecorder(
            url: ingest.pullURL("alice"), path: worker.directory.appending(path: "\(name).flv").path)
        try recorder.start()
        try await Task.sleep(for: .seconds(seconds))
        recorder.stop()
        return await recorder.recording()
    }

    /// Descendants of the worker's process.
    var processes: [Int32] { Self.descendants(of: worker.process.processID) }

    static func descendants(of parent: Int32) -> [Int32] {
        var children: [Int32: [Int32]] = [:]
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let id = Int32(name), let text = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
                let close = text.lastIndex(of: ")")
            else { continue }
            let fields = text[close...].split(separator: " ")
            // Zombies count as ended.
            if fields.count > 2, fields[1] != "Z", let parent = Int32(fields[2]) {
                children[parent, default: []].append(id)
            }
        }
        var found: [Int32] = []
        var open = [parent]
        while let next = open.popLast() {
            let below = children[next] ?? []
            found += below
            open += below
        }
        return found
    }

    static func command(of process: Int32) -> [String] {
        let bytes = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") ?? Data()
        return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the processes of one kind: `renderer`, or the browser itself for `nil`.
    func browsers(_ type: String?) -> [Int32] {
        processes.filter { process in
            let words = Self.command(of: process).joined(separator: " ")
            guard words.contains("chrom"), words.contains("--user-data-dir") || type != nil else { return false }
            return type.map { words.contains("--type=\($0)") } ?? !words.contains("--type=")
        }
    }

    /// The directories of pages on this machine.
    static var directories: Set<String> {
        let places = [FileManager.default.temporaryDirectory.path, "/tmp", "/var/tmp"]
        let names = places.flatMap { (try? FileManager.default.contentsOfDirectory(atPath: $0)) ?? [] }
        return Set(names.filter { $0.hasPrefix("mixpage-") })
    }

    /// The directory of the worker's page.
    var directory: String? {
        for process in processes {
            for word in Self.command(of: process) {
                if let range = word.range(of: "mixpage-") {
                    return String(word[range.lowerBound...].prefix { $0 != "/" })
                }
            }
        }
        return nil
    }

    /// Names of the sockets of all displays of this machine. A browser overwrites the environment in which its own is
    /// named.
    static var displays: Set<String> {
        Set((try? FileManager.default.contentsOfDirectory(atPath: "/tmp/.X11-unix")) ?? [])
    }

    func stop() {
        worker.stop()
        ingest.stop()
        server.stop()
    }
}
