import Foundation
import TestSupport
import Testing

@testable import ViewerProbe

/// `make run`, and no other setup: with the shipped configuration, browsers or encoders that publish are a co-stream.
@Suite(.serialized, .enabled(if: Workspace.products.lastPathComponent == "debug", "make run starts a debug build"))
struct MakeRunTests {
    @Test(.timeLimit(.minutes(10))) func twoPublishersAreACoStream() async throws {
        try await serve { client, _, directory in try await publishAndWatch(client, directory) }
    }

    /// Two programs that publish over RTMP. The mix must be at the viewer within a second of the second one's first
    /// keyframe, which is judged only in `make test-long`: in `make test` other tests run at the same time.
    @Test(.timeLimit(.minutes(10))) func twoEncodersAreACoStream() async throws {
        try await serve { client, ingest, directory in
            let mix = FirstMix(client: client, room: "show", port: ingest, directory: directory)
            let times = try await mix.measure(rounds: TestLength.of(short: 1, long: 5))
            if TestLength.isLong { try times.expectWithinLimits() }
        }
    }

    /// Runs `body` beside `make run`.
    ///
    /// - Parameter body: Gets the service, the port of its RTMP server, and a directory for files.
    private func serve(_ body: (ServiceClient, _ ingest: Int, URL) async throws -> Void) async throws {
        let directory = try Workspace.makeDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let (client, ingest) = (ServiceClient(port: HookingMediaServer.anyPort()), HookingMediaServer.anyPort())
        // The products exist, so nothing is built. The file's ports and directory may be in use.
        let service = try ManagedProcess(
            "make", "make",
            [
                "-C", Workspace.root.path, "-o", "build", "run",
                "BUILD_DIR=\(Workspace.products.deletingLastPathComponent().path)",
            ], in: directory,
            environment: [
                "MIXORCHESTRATOR_HTTP_LISTEN": "127.0.0.1:\(client.port)",
                "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(ingest)",
                "MIXORCHESTRATOR_DATA": directory.appendingPathComponent("data").path,
                // Options of a make that runs the tests are not meant for this one.
                "MAKEFLAGS": "",
                // The machine also carries the publishers and the viewer.
                "MIXORCHESTRATOR_ADMISSION_CORES": "0", "MIXORCHESTRATOR_OVERLOAD_HIGHEST_LEVEL": "0",
            ])
        do {
            try await waitUntil("the service answers\n\(service.messages())") {
                guard service.isRunning else { throw EndToEndError("make run has ended: \(service.messages())") }
                return (try? await client.request("GET", "/readyz").status) == 200
            }
            #expect(service.messages(last: 1000).contains("serve --config deploy/mixorchestrator.yaml"))
            try await body(client, ingest, directory)
        } catch {
            print("--- make run\n\(service.messages())")
            await stop(service)
            throw error
        }
        await stop(service)
    }

    private func publishAndWatch(_ client: ServiceClient, _ directory: URL) async throws {
        for page in ["publish", "watch"] {
            let answer = try await client.request("GET", "/\(page)/demo")
            #expect(answer.status == 200 && answer.contentType.hasPrefix("text/html"), "\(answer)")
        }
        let alice = try await WhipPublisher(
            "alice", SyntheticPublisher(id: 1, width: 360, height: 640), in: "demo", of: client, files: directory)
        try await alice.publish()
        try await waitForOnAir("bypass", [], client)
        let viewer = ProbeRecorder(
            url: "http://127.0.0.1:\(client.port)/live/demo.flv",
            path: directory.appendingPathComponent("demo.flv").path)
        try viewer.start()
        try await viewer.receive(pictures: 40)
        let bob = try await WhipPublisher(
            "bob", SyntheticPublisher(id: 2, width: 360, height: 640), in: "demo", of: client, files: directory)
        try await bob.publish()
        try await waitForOnAir("mix", ["alice", "bob"], client)
        try await viewer.receive(pictures: 40)
        try await bob.leave()
        try await waitForOnAir("bypass", [], client)
        try await viewer.receive(pictures: 40)
        viewer.stop()
        let recording = await viewer.recording()
        let trace = try recording.trace()
        #expect(recording.connections == 1 && trace.video.count > 100 && trace.audio.count > 100)
        try await alice.leave()
    }

    /// - Parameter users: Users in the picture of a mix.
    private func waitForOnAir(_ kind: String, _ users: Set<String>, _ client: ServiceClient) async throws {
        var last: ServiceClient.TaskState?
        try await waitUntil("\(kind) of \(users.sorted()): \(String(describing: last))") {
            last = try await client.task("demo")?.state
            return last?.onAir == kind && last?.users == users
        }
    }

    /// Ends `make`, which ends the service, and whatever they leave behind.
    private func stop(_ service: ManagedProcess) async {
        let processes = ProcessTable.descendants(of: service.identifier)
        await service.stop(within: 60)
        for process in processes {
            let now = ProcessTable.entries().first { $0.identifier == process.identifier }
            if now?.arguments == process.arguments { kill(process.identifier, SIGKILL) }
        }
    }
}
