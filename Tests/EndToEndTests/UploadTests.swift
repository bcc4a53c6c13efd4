import Foundation
import NIOCore
import TestSupport
import Testing

@testable import ViewerProbe

/// Uploads do not affect the program: a real storage refuses, hangs and dies while a room is on air.
@Suite(.serialized) struct UploadTests {
    private static let accessKey = "AKIDOFATEST"
    private static let secretKey = "S3CR3T/of+a=storage"

    /// What the list of recordings says about the only file.
    private struct List: Decodable {
        struct Recording: Decodable {
            struct Copy: Decodable {
                struct Fault: Decodable { var code: String }
                var state: String
                var error: Fault?
            }
            var state: String
            var storage: [Copy]?
        }
        var recordings: [Recording]

        var copy: Recording.Copy? { recordings.first?.storage?.first }
    }

    @Test(.timeLimit(.minutes(10))) func aStorageThatFailsLeavesTheProgramAlone() async throws {
        let port = HookingMediaServer.anyPort()
        let environment = [
            "MIXORCHESTRATOR_UPLOAD_ENDPOINT": "http://127.0.0.1:\(port)", "MIXORCHESTRATOR_UPLOAD_BUCKET": "mix",
            "MIXORCHESTRATOR_UPLOAD_ACCESS_KEY": Self.accessKey, "MIXORCHESTRATOR_UPLOAD_SECRET_KEY": Self.secretKey,
            "MIXORCHESTRATOR_UPLOAD_SCAN_SECONDS": "0.2", "MIXORCHESTRATOR_UPLOAD_RETRY_SECONDS": "0.1",
            "MIXORCHESTRATOR_UPLOAD_THUMBNAILS": "false",
        ]
        try await Stage.run(environment: environment) { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1))
            // It does not know the service's secret, and so refuses every call.
            let refusing = try await Self.storage("refusing", at: port, secretKey: "another", stage)
            try await stage.open(host: "alice")
            let viewer = try await stage.watch()
            try await Self.record(stage)
            try await Self.wait("the upload is refused", stage) { $0?.error?.code == "signature" }
            try await viewer.receive(pictures: 20)
            // It hangs: connections to it are accepted, and nothing is ever answered.
            kill(refusing.identifier, SIGSTOP)
            try await Self.wait("an upload hangs", stage) { $0?.state == "uploading" }
            try await viewer.receive(pictures: 60)
            try await Self.wait("the upload still hangs", stage) { $0?.state == "uploading" }
            // It dies in the middle of the call.
            refusing.kill9()
            try await Self.wait("the storage cannot be reached", stage) { $0?.error?.code == "unreachable" }
            try await viewer.receive(pictures: 20)
            let ready = try await stage.client.request("GET", "/readyz")
            #expect(ready.status == 200, "\(ready.text)")
            // Only the storage was the cause.
            let storage = try await Self.storage("storage", at: port, secretKey: Self.secretKey, stage)
            try await Self.wait("the file is stored", stage) { $0?.state == "stored" }
            try await viewer.receive(pictures: 20)

            let task = try await stage.waitForOnAir("bypass")
            #expect(task.outputs.map(\.reconnects) == [0])
            let report = try await stage.judge(viewer, expectedSwitches: 0)
            #expect(report.isWithinLimits && report.isWhole(), "\(report.table)")
            #expect(report.connections == 1 && report.decodeErrors.isEmpty, "\(report.table)")
            await storage.stop()
        }
    }

    /// Records the program for two seconds.
    private static func record(_ stage: Stage) async throws {
        let path = "/v1/rooms/\(stage.room)/recording"
        let answer = try await stage.client.request("PUT", path, json: "{}")
        #expect(answer.status == 200, "\(answer.text)")
        try await waitUntil("a file is written") { try await list(stage).recordings.count == 1 }
        try await Task.sleep(for: .seconds(2))
        #expect(try await stage.client.request("DELETE", path).status == 204)
        try await waitUntil("the file is closed") { try await list(stage).recordings.first?.state == "complete" }
    }

    private static func list(_ stage: Stage) async throws -> List {
        let answer = try await stage.client.request("GET", "/v1/rooms/\(stage.room)/recordings")
        return try JSONDecoder().decode(List.self, from: answer.body)
    }

    private static func wait(
        _ what: String, _ stage: Stage, _ condition: (List.Recording.Copy?) -> Bool
    ) async throws {
        try await waitUntil(what) { condition(try await list(stage).copy) }
    }

    /// Starts a storage (moto's server, which checks signatures), and returns when it answers.
    private static func storage(
        _ name: String, at port: Int, secretKey: String, _ stage: Stage
    ) async throws -> ManagedProcess {
        let script = Workspace.root.appendingPathComponent("scripts/s3-server.sh").path
        let process = try ManagedProcess(name, script, ["\(port)", accessKey, secretKey, "mix"], in: stage.directory)
        let client = ServiceClient(port: port)
        // The packages may have to be installed first.
        try await waitUntil("the storage answers", within: 240) {
            guard process.isRunning else { throw EndToEndError("the storage ended: \(process.messages())") }
            return (try? await client.request("GET", "/mix/none", within: .seconds(5))) != nil
        }
        return process
    }
}
