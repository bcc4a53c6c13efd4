import Foundation
import MixModel
import TaskStore
import TestSupport
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator

/// The calls of `/rest-api/stream` that do more than list streams.
extension WCSTests {
    private static func publish(_ user: String, on stage: WCSStage) async throws {
        let answer = try await stage.rest(
            "/v1/rooms/lobby/events",
            #"{"type":"stream.published","user":"\#(user)","url":"rtmp://127.0.0.1/live/\#(user)"}"#)
        #expect(answer.hasSuffix("202"), "\(answer)")
    }

    private static func id(of name: String, on stage: WCSStage) async throws -> String {
        let list = try await stage.rest("/rest-api/stream/find", #"{"name":"\#(name)"}"#)
        return String(try #require(list.firstMatch(of: /"mediaSessionId":"([^"]+)"/)?.1))
    }

    private static func recording(on stage: WCSStage) -> ScriptedRelay? {
        stage.service.relays.running.last { $0.plan?.outputs.recordings.isEmpty == false }
    }

    @Test func aFullServiceIsNotARestriction() async throws {
        try await WCSStage.run { stage in
            try await Self.publish("bob", on: stage)
            let client = try await stage.enter()
            for (message, name) in [("publishStream", "ann#lobby"), ("playStream", "bob#lobby")] {
                await client.send(message, WCSStage.stream("id-1", name, #","sdp":"busy""#))
                #expect(try await client.status() == ["id-1", "FAILED", "Failed by error"], "\(message)")
            }
        }
    }

    @Test func aStreamIsRecordedUntilItEnds() async throws {
        try await WCSStage.run { stage in
            try await Self.publish("bob", on: stage)
            try await Self.publish("carol", on: stage)
            let id = try await Self.id(of: "bob#lobby", on: stage)
            let body = #"{"mediaSessionId":"\#(id)"}"#
            #expect(try await stage.rest("/rest-api/stream/stopRecording", body).hasSuffix("404"))
            #expect(try await stage.rest("/rest-api/stream/startRecording", body) == "200")
            let relay = try await eventually { Self.recording(on: stage) }
            #expect(relay.task.name.hasPrefix("record-"))
            #expect(relay.plan?.mode == .bypass("bob/camera") && relay.plan?.outputs.recordings.count == 1)
            #expect(try await stage.rest("/rest-api/stream/startRecording", body).hasSuffix("409"))
            #expect(try await stage.rest("/rest-api/stream/stopRecording", body) == "200")
            try await eventually { Self.recording(on: stage) == nil ? true : nil }
            #expect(try await stage.rest("/rest-api/stream/stopRecording", body).hasSuffix("404"))
            // Once it has ended it may begin again, and ends with its stream.
            try await eventually {
                try await stage.rest("/rest-api/stream/startRecording", body) == "200" ? true : nil
            }
            _ = try await eventually { Self.recording(on: stage) }
            _ = try await stage.rest("/v1/rooms/lobby/events", #"{"type":"stream.unpublished","user":"bob"}"#)
            try await eventually { Self.recording(on: stage) == nil ? true : nil }
            // Another stream of the same name is not recorded.
            try await Self.publish("bob", on: stage)
            try await eventually {
                try await stage.rest("/rest-api/stream/stopRecording", body).hasSuffix("404") ? true : nil
            }
            #expect(Self.recording(on: stage) == nil)
            for wrong in [#"{"mediaSessionId":"nothing"}"#, #"{"mediaSessionId":"mixer-none"}"#] {
                #expect(try await stage.rest("/rest-api/stream/startRecording", wrong).hasSuffix("404"), "\(wrong)")
            }
            #expect(try await stage.rest("/rest-api/stream/startRecording", "{}").hasSuffix("422"))
        }
    }

    @Test func aStreamOfAClientIsRecordedOnceItsMediaArrive() async throws {
        try await WCSStage.run { stage in
            let client = try await stage.enter()
            await client.send("publishStream", WCSStage.stream("id-1", "ann#lobby", WCSStage.offer))
            #expect(try await client.next().name == "setRemoteSDP")
            let body = #"{"mediaSessionId":"id-1"}"#
            #expect(try await stage.rest("/rest-api/stream/startRecording", body).hasSuffix("404"))
            try await Self.publish("ann", on: stage)
            #expect(try await stage.rest("/rest-api/stream/startRecording", body) == "200")
            let relay = try await eventually { Self.recording(on: stage) }
            #expect(relay.plan?.mode == .bypass("ann/camera"))
        }
    }

    @Test func aMixIsRecorded() async throws {
        try await WCSStage.run { stage in
            try await Self.publish("bob", on: stage)
            #expect(
                try await stage.rest("/rest-api/mixer/startup", #"{"uri":"mixer://m1","localStreamName":"mixed"}"#)
                    == "200")
            #expect(
                try await stage.rest("/rest-api/mixer/add", #"{"uri":"mixer://m1","remoteStreamName":"bob#lobby"}"#)
                    == "200")
            let body = #"{"mediaSessionId":"mixer-m1"}"#
            #expect(try await stage.rest("/rest-api/stream/startRecording", body) == "200")
            let relay = try await eventually { Self.recording(on: stage) }
            #expect(relay.task.name == "mixer-m1")
            // One that runs continues; one that has failed begins anew, which needs another identifier.
            let id = try #require(relay.plan?.outputs.recordings.first?.id)
            relay.setRecordings([RecordingStatus(id: id, state: .recording)])
            #expect(try await stage.rest("/rest-api/stream/startRecording", body) == "200")
            #expect(relay.plan?.outputs.recordings.first?.id == id)
            relay.setRecordings([RecordingStatus(id: id, state: .failed)])
            try await eventually {
                _ = try await stage.rest("/rest-api/stream/startRecording", body)
                let now = Self.recording(on: stage)?.plan?.outputs.recordings.first?.id
                return now != nil && now != id ? true : nil
            }
            #expect(try await stage.rest("/rest-api/stream/stopRecording", body) == "200")
            #expect(try await stage.rest("/rest-api/stream/stopRecording", body).hasSuffix("404"))
        }
    }

    @Test func aPullIsEndedAsAStream() async throws {
        try await WCSStage.run(["sources.allow": ["rtmp://127.0.0.1"]]) { stage in
            let pull = #"{"uri":"rtmp://127.0.0.1/relay/alice","localStreamName":"bob#lobby"}"#
            #expect(try await stage.rest("/rest-api/pull/pull", pull) == "200")
            #expect(try await stage.rest("/rest-api/stream/terminate", #"{"name":"bob#lobby"}"#) == "200")
            #expect(try await stage.rest("/rest-api/stream/find_all", "").hasSuffix("404"))
            #expect(try await stage.rest("/rest-api/pull/pull", pull) == "200")
            let id = try await Self.id(of: "bob#lobby", on: stage)
            #expect(try await stage.rest("/rest-api/stream/terminate", #"{"mediaSessionIds":["\#(id)"]}"#) == "200")
            #expect(try await stage.rest("/rest-api/stream/find_all", "").hasSuffix("404"))
        }
    }

    @Test func theAppsServerTellsPlayers() async throws {
        try await WCSStage.run { stage in
            try await Self.publish("ann", on: stage)
            let viewer = try await stage.enter()
            await viewer.send("playStream", WCSStage.stream("p-1", "ann#lobby", WCSStage.offer))
            #expect(try await viewer.next().name == "setRemoteSDP")
            #expect(try await viewer.status() == ["p-1", "PENDING"])
            let path = "/rest-api/stream/event/send"
            #expect(try await stage.rest(path, #"{"streamName":"ann#lobby","payload":{"count":23}}"#) == "200")
            let event = try await viewer.next()
            #expect(event.name == "notifyStreamEvent" && event.text("type") == "data")
            #expect(event.text("mediaSessionId") == "p-1")
            #expect(try await stage.rest(path, #"{"streamName":"zoe#lobby","payload":1}"#).hasSuffix("404"))
            #expect(try await stage.rest(path, #"{"streamName":"lobby"}"#).hasSuffix("404"), "a room, not a stream")
            let long = String(repeating: "x", count: WCSStreams.longestPayload)
            let refusal = try await stage.rest(path, #"{"streamName":"ann#lobby","payload":"\#(long)"}"#)
            #expect(refusal.hasSuffix("422"), "\(refusal)")
            #expect(try await stage.rest("/rest-api/stream/event/take", "{}").contains("wcs-call-not-found"))
        }
    }

    @Test func snapshotsArePicturesOfStreamsAndRooms() async throws {
        let maker = ScriptedPreviewMaker()
        try await withDirectory { directory in
            try await withOrchestrator(
                directory: directory, store: MemoryTaskStore(), settings: ["wcs.enabled": ["true"]], previews: maker
            ) { bench in
                func snapshot(_ name: String) async throws -> Answer {
                    try await bench.call(.post, "/rest-api/stream/snapshot", #"{"streamName":"\#(name)"}"#)
                }
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                let relay = try #require(bench.relays.started.last)
                relay.setPreview([1, 2], of: "alice/camera")
                relay.setPreview([3], of: nil)
                let stream = try await eventually { () async throws -> Answer? in
                    let answer = try await snapshot("alice#demo")
                    return answer.status == 409 ? nil : answer
                }
                // A flag that the relay's answer has a picture, and the picture.
                let jpeg = Data([0xFF, 0xD8, 1, 1, 2]).base64EncodedString()
                #expect(try stream.value("data") == jpeg, "\(stream.text)")
                let program = try await snapshot("demo")
                #expect(try program.value("data") == Data([0xFF, 0xD8, 1, 3]).base64EncodedString(), "\(program.text)")
                for unknown in ["alice#demo#desktop", "bob#demo", "nowhere", "a#b#c#d"] {
                    #expect(try await snapshot(unknown).status == 404, "\(unknown)")
                }
            }
        }
    }
}
