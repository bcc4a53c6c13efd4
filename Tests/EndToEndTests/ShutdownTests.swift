import Foundation
import MixModel
import Synchronization
import TaskStore
import TestSupport
import Testing
import EncodedMedia

/// The service stops while it is in use. The processes are real; there are no media. A shutdown that takes longer than
/// 10 s ends with another exit code, so the exit code also proves the duration.
@Suite(.serialized) struct ShutdownTests {
    /// Sends events until the service accepts no more, and records the ids of those answered with 202, by room.
    private func send(_ senders: Int, to client: ServiceClient, _ accepted: Accepted) async {
        await withTaskGroup(of: Void.self) { group in
            for sender in 0..<senders {
                group.addTask {
                    for number in 0... {
                        let room = "load-\((sender + number) % 8)"
                        let id = "\(sender)-\(number)"
                        let event =
                            #"{"specversion":"1.0","id":"\#(id)","source":"test","subject":"\#(room)","#
                            + #""type":"stream.published","data":{"user":"u\#(sender)","url":"\#(ControlStage.nowhere)/x"}}"#
                        let answer = try? await client.request(
                            "POST", "/v1/events", json: event,
                            headers: ["Content-Type": "application/cloudevents+json"])
                        guard answer?.status == 202 else { return }
                        accepted.add(id, room)
                    }
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func whatWasAnsweredIsStoredAndNobodyHoldsTheShutdown() async throws {
        try await ControlStage.run { stage in
            try await stage.makeRoom("a")
            try await stage.client.published("a", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            try await stage.settled("auto-a")
            #expect(stage.relays.count == 1)
            // The program is the slate, because the source never comes.
            try await waitUntil("the program is on air") {
                try await stage.settled("auto-a")["onAir"] is String
            }

            let port = stage.client.port
            let idle = try PlainClient(port: port)
            let halfHead = try PlainClient(port: port)
            halfHead.send("POST /v1/rooms/a/events HTTP/1.1\r\nHost: loc".utf8)
            let halfBody = try PlainClient(port: port)
            halfBody.send("POST /v1/rooms/a/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{".utf8)
            let reader = try PlainClient(port: port)
            let page = "GET /openapi.yaml HTTP/1.1\r\nHost: localhost\r\n\r\n"
            reader.send(String(repeating: page, count: 500).utf8)
            let viewer = try PlainClient(port: port)
            viewer.send("GET /live/a.flv HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
            try await waitUntil("the viewer is counted") { try await stage.client.viewers("a") == 1 }

            let accepted = Accepted()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await send(8, to: stage.client, accepted) }
                try await waitUntil("events are taken") { accepted.count >= 200 }
                let began = ContinuousClock.now
                kill(stage.service.identifier, SIGTERM)
                try await waitUntil("the service ends", every: 10) { !stage.service.isRunning }
                print("shutdown under load: \(began.duration(to: .now)), \(accepted.count) events taken")
                try await group.waitForAll()
            }
            #expect(stage.service.exitStatus == 0, "\(stage.service.messages())")
            #expect(stage.service.messages().contains("stopped"))
            try await waitUntil("relays are drained") { stage.relays.isEmpty }
            // The program ended in order and was not cut off.
            let seen = viewer.receive()
            #expect(seen.hasPrefix("HTTP/1.1 200 ") && seen.hasSuffix("\r\n0\r\n\r\n"), "\(seen.suffix(100))")
            for cut in [idle, halfHead, halfBody] { #expect(cut.receive().isEmpty) }
            _ = reader.receive()

            try await stage.withStore { store in
                for (room, ids) in accepted.byRoom {
                    let stored = try await store.events(of: RoomID(room), limit: 1_000_000).map(\.id)
                    let lost = ids.subtracting(stored)
                    #expect(lost.isEmpty, "\(room): answered and not stored: \(lost.sorted().prefix(10))")
                    #expect(stored.count == Set(stored).count)
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func relaysAreKeptWhenTheyAreToBe() async throws {
        try await ControlStage.run(environment: ["MIXORCHESTRATOR_RELAY_KEEP": "true"]) { stage in
            try await stage.makeRoom("a")
            try await stage.client.published("a", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            try await stage.settled("auto-a")
            let relays = stage.relays
            await stage.service.stop()
            #expect(stage.service.exitStatus == 0, "\(stage.service.messages())")
            #expect(stage.relays == relays && relays.count == 1)
        }
    }

    /// A hung relay is killed in time for the service to end in order.
    @Test(.timeLimit(.minutes(5))) func aRelayThatHangsDoesNotHoldTheShutdown() async throws {
        try await ControlStage.run { stage in
            try await stage.makeRoom("a")
            try await stage.client.published("a", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            try await stage.settled("auto-a")
            let relay = try #require(stage.relays["auto-a"]?.first)
            kill(relay, SIGSTOP)
            let halfBody = try PlainClient(port: stage.client.port)
            halfBody.send("POST /v1/rooms/a/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{".utf8)
            let began = ContinuousClock.now
            await stage.service.stop(within: 30)
            print("shutdown with a relay that hangs: \(began.duration(to: .now))")
            #expect(stage.service.exitStatus == 0, "\(stage.service.messages())")
            try await waitUntil("no relay is left") { stage.relays.isEmpty }
            #expect(halfBody.receive().isEmpty)
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: [SIGTERM, SIGINT])
    func aSecondSignalEndsTheServiceAtOnce(_ signal: Int32) async throws {
        try await ControlStage.run { stage in
            try await stage.makeRoom("a")
            try await stage.client.published("a", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            try await stage.settled("auto-a")
            let relay = try #require(stage.relays["auto-a"]?.first)
            // Makes the shutdown wait.
            kill(relay, SIGSTOP)
            kill(stage.service.identifier, SIGTERM)
            try await waitUntil("the shutdown waits for the relay", every: 5) {
                stage.service.messages(last: .max).contains("draining relays")
            }
            kill(stage.service.identifier, signal)
            try await waitUntil("the service ends", every: 5) { !stage.service.isRunning }
            #expect(stage.service.exitStatus == 128 + signal, "\(stage.service.messages())")
            #expect(stage.service.messages().contains("second signal"))
            // The relay either was told to end, or continues because the signal came first. The next start handles both
            // cases.
            kill(relay, SIGCONT)
            #expect(try await stage.start())
            try await stage.settled("auto-a")
            try await waitUntil("the task has one relay") { stage.relays["auto-a"]?.count == 1 }
        }
    }
}

/// The events that were answered with 202.
private final class Accepted: Sendable {
    private let ids = Mutex<[String: Set<String>]>([:])

    func add(_ id: String, _ room: String) { ids.withLock { _ = $0[room, default: []].insert(id) } }
    var byRoom: [String: Set<String>] { ids.withLock { $0 } }
    var count: Int { byRoom.values.reduce(0) { $0 + $1.count } }
}
